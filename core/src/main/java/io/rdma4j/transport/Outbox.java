package io.rdma4j.transport;

/**
 * Small messages of the connection's own that found no room on the path, oldest first.
 *
 * <p>Under the sender's lock, except {@link #isEmpty()}. Grows as needed; otherwise makes no
 * garbage.
 */
final class Outbox {
  private static final int WORDS = 2;

  /** Two words each: type in the upper half with the value in the lower one, correlation id. */
  private long[] words = new long[16 * WORDS];

  private int first;
  private volatile int size;

  boolean isEmpty() {
    return size == 0;
  }

  void add(int type, long correlationId, int value) {
    int count = size;
    if ((count + 1) * WORDS > words.length) {
      grow(count);
    }
    int at = index(count);
    words[at] = (long) type << 32 | (value & 0xffff_ffffL);
    words[at + 1] = correlationId;
    size = count + 1;
  }

  int type() {
    return (int) (words[first] >>> 32);
  }

  int value() {
    return (int) words[first];
  }

  long correlationId() {
    return words[first + 1];
  }

  /** Forgets the oldest one. */
  void remove() {
    first = index(1);
    int count = size;
    size = count - 1;
  }

  private int index(int number) {
    return (first + number * WORDS) % words.length;
  }

  private void grow(int count) {
    long[] larger = new long[2 * words.length];
    for (int i = 0; i < count; i++) {
      System.arraycopy(words, index(i), larger, i * WORDS, WORDS);
    }
    words = larger;
    first = 0;
  }
}
