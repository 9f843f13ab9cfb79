/**
 * Memory that devices know already, handed out in nanoseconds: a {@link
 * io.rdma4j.pool.RegisteredBufferPool} lends {@link io.rdma4j.pool.RegisteredBuffer}s.
 */
@NullMarked
package io.rdma4j.pool;

import org.jspecify.annotations.NullMarked;
