/**
 * Messages over the bootstrap connection itself: works wherever a socket does.
 *
 * <p>A send appends a frame to the {@link io.rdma4j.provider.tcp.SendRing} and writes to the socket
 * at once when nothing else waits there; what the socket does not take is written by later polls.
 * Received bytes are parsed and delivered in place from the {@link
 * io.rdma4j.provider.tcp.ReceiveBuffer}.
 */
@NullMarked
package io.rdma4j.provider.tcp;

import org.jspecify.annotations.NullMarked;
