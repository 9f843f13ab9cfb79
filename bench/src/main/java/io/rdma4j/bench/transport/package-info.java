/**
 * The message transport against other ways between two processes of one host.
 *
 * <p>Two processes, one thread in each that matters: {@link io.rdma4j.bench.transport.Peer} answers
 * what a {@link io.rdma4j.bench.transport.Loop} asks, over a {@link
 * io.rdma4j.bench.transport.Link}. All ways are connected at the same time and run in turn.
 */
@NullMarked
package io.rdma4j.bench.transport;

import org.jspecify.annotations.NullMarked;
