package io.rdma4j.bench.transport;

import java.io.IOException;

/**
 * One end of one way between the two processes. Both ends are of the same class.
 *
 * <p>Single thread only: the one that sends also polls. Subclasses are final and call {@link
 * #received} for each message, so that the compiler sees one receiver for each call.
 *
 * <p>A message is two words and then bytes of no meaning:
 *
 * <pre>
 *  0   8  sequence number, from 0 on in each direction
 *  8   8  flags
 * 16      the rest, read by the receiver once per cache line
 * </pre>
 */
abstract class Link implements AutoCloseable {
  /** A one-way message. */
  static final long NO_FLAG = 0;

  /** The peer answers with a message of the same length. */
  static final long ANSWER = 1;

  /** The peer leaves its serving loop. */
  static final long STOP = 2;

  static final int HEADER_BYTES = 16;
  static final int MAX_MESSAGE_BYTES = 64 * 1024;
  static final int LINE_BYTES = 64;
  static final int MAX_LARGE_BYTES = 16 << 20;

  private long sent;
  private long received;
  private long expected;
  private long misordered;
  private boolean stopped;
  private long touched;

  /** Answers that met back-pressure, by length; most recent last. */
  private final int[] owed = new int[4096];

  private int owedCount;

  /**
   * Sends a message, or puts it where the next flush finds it.
   *
   * @return false when there is no room now; nothing was sent then
   */
  abstract boolean offer(long sequence, long flags, int lengthBytes) throws IOException;

  /** Reads from memory that the peer's process has exported, and waits for it. */
  void read(int lengthBytes) throws IOException {
    throw new IOException("memory of the peer can not be read over " + this);
  }

  /** Returns whether {@link #large} can be called. */
  boolean carriesLarge() {
    return false;
  }

  /** Sends a message of any length, and waits until the peer has all of it. */
  void large(int lengthBytes) throws IOException {
    throw new IOException(this + " has no way of its own for large messages");
  }

  /** Lets everything go that {@link #offer} has collected. */
  abstract void flush() throws IOException;

  /** Flushes when no {@link #poll} follows: nothing may wait for an answer, for there is none. */
  void finish() throws IOException {
    flush();
  }

  /** Takes what has arrived and returns how many messages that were. */
  abstract int poll() throws IOException;

  @Override
  public abstract void close() throws IOException;

  /** Sends the next message of this direction; false when there is no room now. */
  final boolean send(long flags, int lengthBytes) throws IOException {
    if (!offer(sent, flags, lengthBytes)) {
      return false;
    }
    sent++;
    return true;
  }

  /**
   * Notes a message, and answers it when the peer asks for that.
   *
   * @param touch what the receiver has made of the rest of the message
   */
  final void received(long sequence, long flags, int lengthBytes, long touch) throws IOException {
    if (sequence != expected) {
      misordered++;
    }
    expected = sequence + 1;
    received++;
    touched += touch;
    if (flags == ANSWER) {
      if (owedCount > 0 || !send(NO_FLAG, lengthBytes)) {
        owed[owedCount++] = lengthBytes;
      }
    } else if (flags == STOP) {
      stopped = true;
    }
  }

  /** Sends answers that met back-pressure. All messages of a run have one length. */
  final void settle() throws IOException {
    while (owedCount > 0 && send(NO_FLAG, owed[owedCount - 1])) {
      owedCount--;
    }
  }

  final long receivedCount() {
    return received;
  }

  final long misorderedCount() {
    return misordered;
  }

  /** Notes what a receiver has made of a large message. */
  final void touch(long value) {
    touched += value;
  }

  /** Returns a value that depends on all payloads, so that no reading of them can be left out. */
  final long touched() {
    return touched;
  }

  /** Returns whether the peer wants this end to stop serving, once. */
  final boolean takeStop() {
    boolean stop = stopped;
    stopped = false;
    return stop;
  }
}
