/**
 * The {@code top} command: a node by its monitor, or a pool of this process, live. What is shown is
 * computed from {@link io.rdma4j.tools.top.NodePicture}s and {@link
 * io.rdma4j.tools.top.PoolSnapshot}s alone, wherever those come from.
 */
@NullMarked
package io.rdma4j.tools.top;

import org.jspecify.annotations.NullMarked;
