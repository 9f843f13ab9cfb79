/**
 * The {@code top} command: a pool's memory, rates and slabs, live. What is shown is computed from
 * {@link io.rdma4j.tools.top.PoolSnapshot}s alone, wherever those come from.
 */
@NullMarked
package io.rdma4j.tools.top;

import org.jspecify.annotations.NullMarked;
