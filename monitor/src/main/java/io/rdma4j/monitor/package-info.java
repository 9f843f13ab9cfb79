/** Shows what {@code io.rdma4j.status} has to people and to their tools. */
@NullMarked
package io.rdma4j.monitor;

import org.jspecify.annotations.NullMarked;
