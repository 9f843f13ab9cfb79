/**
 * Messages over reliable-connected queue pairs, written against the interfaces of {@link
 * io.rdma4j.verbs} alone.
 *
 * <p>Life of a message: {@link io.rdma4j.provider.verbs.VerbsEndpoint#send} puts header and payload
 * into the next slot of the {@code SendSide}, and a doorbell posts it with others; the peer's
 * device writes it into the oldest posted receive of its {@code ReceiveSlots}; the peer's poll
 * checks the header ({@code Arrivals}), shows the payload to the listener, posts the receive again
 * ({@code ReceiveSide}) and owes one credit, which travels back in the header of the next message
 * or in a credit message of its own.
 *
 * <p>Which thread writes what:
 *
 * <pre>
 *  field                      writer                          readers
 *  SendSide.queued            holder of the send lock         poller, whether something waits (opaque)
 *  SendSide.posted, slots     holder of the send lock         poller, after a completion (acquire)
 *  SendSide.completed         poller (release)                holder of the send lock (acquire)
 *  SendSide.creditLimit       poller (release)                holder of the send lock (acquire)
 *  OwnReceives.reposted,      poller (release)                holder of the send lock (acquire)
 *    SharedReceiveSide.granted
 *  SharedReceives, counts     holder of its lock              the same; pollers at a glance (plain)
 *  ReceiveSlots, a slot       poller that has it              poller that gets it from the device
 *  EndpointEvents.trouble     any, first one wins             poller
 * </pre>
 *
 * The send lock is held for one message or one doorbell at a time. A sender spins for it, and so
 * does a close; the poller, which needs it for credits and for what waits, merely tries and comes
 * back at its next turn.
 */
@NullMarked
package io.rdma4j.provider.verbs;

import org.jspecify.annotations.NullMarked;
