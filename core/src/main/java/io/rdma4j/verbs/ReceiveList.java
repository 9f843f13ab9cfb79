package io.rdma4j.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * A reusable list of receive work requests in the memory layout of libibverbs.
 *
 * <p>Single thread only. Owned by whoever creates it. Adding, posting and clearing allocate
 * nothing.
 *
 * <pre>
 *  struct ibv_recv_wr, 32 bytes each     struct ibv_sge, 16 bytes each
 *    0  wr_id    8                         0  addr    8
 *    8  next     8                         8  length  4
 *   16  sg_list  8                        12  lkey    4
 *   24  num_sge  4
 * </pre>
 */
public final class ReceiveList implements AutoCloseable {
  private static final long WR_BYTES = 32;
  private static final long SGE_BYTES = 16;
  private static final long WR_ID = 0;
  private static final long NEXT = 8;
  private static final long SG_LIST = 16;
  private static final long NUM_SGE = 24;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment requests;
  private final MemorySegment entries;
  private final int capacity;
  private final int maxSge;
  private int size;
  private int errno;

  /**
   * Creates an empty list.
   *
   * @param capacity work requests
   * @param maxSge scatter entries of each
   */
  public ReceiveList(int capacity, int maxSge) {
    if (capacity < 1 || maxSge < 1) {
      throw new IllegalArgumentException(
          "a receive list needs capacity >= 1 and maxSge >= 1, not " + capacity + " and " + maxSge);
    }
    this.capacity = capacity;
    this.maxSge = maxSge;
    requests = arena.allocate(capacity * WR_BYTES, 64);
    entries = arena.allocate((long) capacity * maxSge * SGE_BYTES, 64);
  }

  /** Forgets all requests. */
  public void clear() {
    size = 0;
    errno = 0;
  }

  /** Returns the number of requests added. */
  public int size() {
    return size;
  }

  /** Returns how many fit. */
  public int capacity() {
    return capacity;
  }

  /** Returns the errno of the last post, 0 when all requests were taken. */
  public int errno() {
    return errno;
  }

  /** Starts the next request, without scatter entries. */
  public ReceiveList add(long wrId) {
    if (size == capacity) {
      throw new IllegalStateException("receive list is full: " + capacity + " work requests");
    }
    long wr = size * WR_BYTES;
    requests.set(JAVA_LONG, wr + WR_ID, wrId);
    requests.set(JAVA_LONG, wr + NEXT, 0L);
    requests.set(JAVA_LONG, wr + SG_LIST, 0L);
    requests.set(JAVA_INT, wr + NUM_SGE, 0);
    if (size > 0) {
      requests.set(JAVA_LONG, wr - WR_BYTES + NEXT, requests.address() + wr);
    }
    size++;
    return this;
  }

  /** Appends a scatter entry to the request started last. */
  public ReceiveList scatter(long address, int lengthBytes, int lkey) {
    if (size == 0) {
      throw new IllegalStateException("no work request was started");
    }
    long wr = (size - 1L) * WR_BYTES;
    int count = requests.get(JAVA_INT, wr + NUM_SGE);
    if (count == maxSge) {
      throw new IllegalStateException("work request is full: " + maxSge + " scatter entries");
    }
    long first = (size - 1L) * maxSge * SGE_BYTES;
    long sge = first + count * SGE_BYTES;
    entries.set(JAVA_LONG, sge, address);
    entries.set(JAVA_INT, sge + 8, lengthBytes);
    entries.set(JAVA_INT, sge + 12, lkey);
    requests.set(JAVA_LONG, wr + SG_LIST, entries.address() + first);
    requests.set(JAVA_INT, wr + NUM_SGE, count + 1);
    return this;
  }

  /** Returns the address of the first request, as ibv_post_recv wants it. */
  public long address() {
    return requests.address();
  }

  /**
   * Records the outcome of a post for {@link #errno()}; for implementations of {@link QueuePair}.
   *
   * @param errno 0 when all were taken
   * @param badRequestAddress value of bad_wr, used when errno is not 0
   * @return how many were taken
   */
  public int posted(int errno, long badRequestAddress) {
    this.errno = errno;
    return errno == 0 ? size : (int) ((badRequestAddress - requests.address()) / WR_BYTES);
  }

  /**
   * Drops the first {@code count} requests, so that the next post starts with the one that the last
   * post refused.
   */
  public void dropFirst(int count) {
    Objects.checkIndex(count, size + 1);
    int left = size - count;
    for (int i = 0; i < left; i++) {
      int from = i + count;
      MemorySegment.copy(requests, from * WR_BYTES, requests, i * WR_BYTES, WR_BYTES);
      long first = (long) i * maxSge * SGE_BYTES;
      MemorySegment.copy(
          entries, (long) from * maxSge * SGE_BYTES, entries, first, maxSge * SGE_BYTES);
      boolean empty = requests.get(JAVA_INT, i * WR_BYTES + NUM_SGE) == 0;
      requests.set(JAVA_LONG, i * WR_BYTES + SG_LIST, empty ? 0L : entries.address() + first);
      boolean last = i == left - 1;
      requests.set(
          JAVA_LONG, i * WR_BYTES + NEXT, last ? 0L : requests.address() + (i + 1) * WR_BYTES);
    }
    size = left;
    errno = 0;
  }

  /** Returns wr_id of request {@code i}. */
  public long wrId(int i) {
    return requests.get(JAVA_LONG, Objects.checkIndex(i, size) * WR_BYTES + WR_ID);
  }

  /** Returns the number of scatter entries of request {@code i}. */
  public int sgeCount(int i) {
    return requests.get(JAVA_INT, Objects.checkIndex(i, size) * WR_BYTES + NUM_SGE);
  }

  /** Returns the address of scatter entry {@code j} of request {@code i}. */
  public long sgeAddress(int i, int j) {
    return entries.get(JAVA_LONG, sgeAt(i, j));
  }

  /** Returns the length of scatter entry {@code j} of request {@code i}. */
  public int sgeLengthBytes(int i, int j) {
    return entries.get(JAVA_INT, sgeAt(i, j) + 8);
  }

  /** Returns the lkey of scatter entry {@code j} of request {@code i}. */
  public int sgeLkey(int i, int j) {
    return entries.get(JAVA_INT, sgeAt(i, j) + 12);
  }

  private long sgeAt(int i, int j) {
    Objects.checkIndex(j, sgeCount(i));
    return ((long) i * maxSge + j) * SGE_BYTES;
  }

  /** Frees the native memory. The list must not be in a post call. */
  @Override
  public void close() {
    if (arena.scope().isAlive()) {
      size = 0; // so that a post of a closed list posts nothing
      arena.close();
    }
  }
}
