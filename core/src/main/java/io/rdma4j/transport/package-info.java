/**
 * Messages between nodes: a {@link io.rdma4j.transport.Node} listens and connects, a {@link
 * io.rdma4j.transport.Connection} carries messages and requests over the best path that both ends
 * have.
 */
@NullMarked
package io.rdma4j.transport;

import org.jspecify.annotations.NullMarked;
