package io.rdma4j.provider;

import io.rdma4j.status.EventSubject;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * One end of an established path: messages keep their boundaries and their order, each arrives
 * once.
 *
 * <p>Thread contract: one thread at a time sends (the caller serialises), one thread at a time
 * polls, and the two may be different threads at the same time. {@link #housekeep} may run beside
 * both. {@link #close} is called by the polling thread, with senders kept out.
 *
 * <p>Send results are those of {@link io.rdma4j.SendResult}. Sending and polling allocate nothing.
 */
public interface Endpoint {
  /** Stands for no token. */
  long NO_TOKEN = -1;

  /** Returns the path in words, for example {@code verbs rxe0 port 1, RoCE}. */
  String description();

  /** Returns the device used, empty when there is none. */
  String device();

  /** Returns the queue pair, null where the path has none or it is gone. Any thread. */
  default @Nullable QueuePairStatus queuePair() {
    return null;
  }

  /** Returns how events name this end: by device, port and queue pair where it has them. */
  default EventSubject subject() {
    return EventSubject.device(device(), 0);
  }

  /** Returns the registrar whose keys {@link #sendRegistered} wants, or null when it wants none. */
  @Nullable MemoryRegistrar registrar();

  /** Returns the largest payload of one message. */
  int maxMessageBytes();

  /**
   * Returns what the device can do on the peer's memory by itself, or null when there is no such
   * device. Any thread; the answer holds until the path changes.
   */
  default @Nullable OneSided oneSided() {
    return null;
  }

  /**
   * Sends a message by copy; the memory is free again on return.
   *
   * @param type 0 to 255, delivered with the message
   * @param correlationId delivered with the message
   * @param source heap or native memory
   * @param offset start of the payload in {@code source}
   * @param lengthBytes 0 to {@link #maxMessageBytes()}
   * @return {@link io.rdma4j.SendResult}
   */
  long send(int type, long correlationId, MemorySegment source, long offset, int lengthBytes);

  /**
   * Sends a message from registered memory without an intermediate copy on this side's way to the
   * device, ring or socket. When the result is not negative, the memory belongs to the endpoint
   * until {@link EndpointListener#onSent} gives back {@code token}; this may happen at the next
   * poll.
   *
   * @param source native memory whose address is registered under {@code lkey}
   * @param lkey key of {@link #registrar()}, ignored when that is null
   * @param token anything but {@link #NO_TOKEN}; handles of the pool use the sign bit
   * @return {@link io.rdma4j.SendResult}
   */
  long sendRegistered(
      int type,
      long correlationId,
      MemorySegment source,
      long offset,
      int lengthBytes,
      int lkey,
      long token);

  /**
   * Lets go what sends have left waiting for company. A message that was sent goes out with this
   * call, with the next {@link #poll} unless {@link #needsFlush}, or before. By the sending thread.
   */
  default void flush() {}

  /**
   * Returns whether something waits that {@link #flush} lets go and {@link #poll} does not, because
   * the two may be different threads'. Any thread; what another thread does may not show yet.
   */
  default boolean needsFlush() {
    return false;
  }

  /**
   * Returns whether a message of any length would find room now, copied or registered; also true
   * when a send would be refused for another reason than {@link
   * io.rdma4j.SendResult#BACK_PRESSURED}. By the sending thread.
   */
  default boolean hasRoom() {
    return true;
  }

  /** Returns whether everything sent has left this process. By the polling thread. */
  default boolean isFlushed() {
    return true;
  }

  /**
   * Makes progress: delivers messages, gives back sent memory, reports a failure once. Never
   * blocks.
   *
   * @param messageLimit most messages to deliver in this call
   * @return messages delivered plus tokens given back, 0 when idle
   */
  int poll(EndpointListener listener, int messageLimit);

  /**
   * Hands over the block that holds the message which is being delivered, payload at its start. The
   * listener owns it from then on, and another block takes its place. From within {@link
   * EndpointListener#onMessage} only, once for a message.
   *
   * @return the block's handle in the provider's {@link ReceiveMemory}; {@link ReceiveMemory#NONE}
   *     when the message lies elsewhere, or no other block is free: it has to be copied then
   */
  default long takeMessage() {
    return ReceiveMemory.NONE;
  }

  /**
   * Returns a descriptor that can be read once something has arrived after {@link #arm}, -1 where
   * the path has none. It stays the same and is closed with the endpoint.
   */
  default int eventDescriptor() {
    return -1;
  }

  /**
   * Asks for an event, then looks once more whether something is there: what arrives between a
   * fruitless poll and this call is never slept over. The event shows at {@link #eventDescriptor};
   * without one it comes over the bootstrap connection, when that carries the messages (tcp) or the
   * peer is told to ring there (see {@link #peerSleeps}). By the polling thread, after a poll that
   * found nothing.
   */
  default Rest arm() {
    return Rest.BRIEF;
  }

  /** Says that the polling thread is awake again. By the polling thread. */
  default void disarm() {}

  /**
   * Returns true when the peer's polling thread sleeps and has to be woken over the bootstrap
   * connection; once for each sleep. To be asked after a send, by the sending thread.
   */
  default boolean peerSleeps() {
    return false;
  }

  /**
   * Looks for trouble that does not show in {@link #poll}: device events, disconnects. Called by a
   * background thread a hundred times a second or so; what it finds is reported by the next poll.
   */
  default void housekeep(long nowNs) {}

  /**
   * Gives everything back. Not from a callback of the listener. Tokens still out are handed to the
   * listener before this returns; no other callback is made. Idempotent.
   */
  void close(EndpointListener listener);
}
