package io.rdma4j.provider;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Tokens of {@link Endpoint#sendRegistered} on their way from the sending to the polling thread,
 * for endpoints whose sends are done when they return.
 *
 * <p>One thread offers, one thread drains. Neither allocates.
 *
 * <pre>
 *  field   written by   mode
 *  tail    sender       release by the sender, acquire by the poller
 *  head    poller       release by the poller, acquire by the sender
 *  slots   sender       plain, published by tail
 * </pre>
 *
 * All of it lies in one array: head and tail have 128 bytes to each side to themselves, so that the
 * two threads share no cache line but those of tokens.
 */
public final class TokenQueue {
  private static final VarHandle WORD = MethodHandles.arrayElementVarHandle(long[].class);
  private static final int LINES = 16;
  private static final int HEAD = LINES;
  private static final int TAIL = 2 * LINES;
  private static final int SLOTS = 3 * LINES;

  private final long[] words;
  private final int capacity;
  private final int mask;

  /** Creates a queue for {@code capacity} tokens. */
  public TokenQueue(int capacity) {
    if (capacity < 1 || capacity > 1 << 24) {
      throw new IllegalArgumentException("token queue needs 1 to 2^24 slots, not " + capacity);
    }
    int slots = Integer.highestOneBit(Math.max(1, 2 * capacity - 1));
    this.capacity = capacity;
    this.mask = slots - 1;
    this.words = new long[SLOTS + slots + LINES];
  }

  /** Returns whether there is no room; by the offering thread. */
  public boolean isFull() {
    return words[TAIL] - (long) WORD.getAcquire(words, HEAD) >= capacity;
  }

  /** Returns whether there is nothing to drain; by the draining thread. */
  public boolean isEmpty() {
    return words[HEAD] == (long) WORD.getAcquire(words, TAIL);
  }

  /** Adds a token; returns false when there is no room. */
  public boolean offer(long token) {
    if (isFull()) {
      return false;
    }
    long tail = words[TAIL];
    words[SLOTS + ((int) tail & mask)] = token;
    WORD.setRelease(words, TAIL, tail + 1);
    return true;
  }

  /** Hands all tokens to the listener, in their order, and returns how many there were. */
  public int drain(EndpointListener listener) {
    long head = words[HEAD];
    long tail = (long) WORD.getAcquire(words, TAIL);
    int count = 0;
    while (head != tail) {
      long token = words[SLOTS + ((int) head & mask)];
      head++;
      WORD.setRelease(words, HEAD, head);
      count++;
      listener.onSent(token);
    }
    return count;
  }
}
