package io.rdma4j.verbs;

import static io.rdma4j.os.StructFields.copy;
import static io.rdma4j.os.StructFields.getInt;
import static io.rdma4j.os.StructFields.getLong;
import static io.rdma4j.os.StructFields.putInt;
import static io.rdma4j.os.StructFields.putLong;

import java.lang.foreign.Arena;
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
  static final long SGE_BYTES = 16;
  private static final long WR_ID = 0;
  private static final long NEXT = 8;
  private static final long SG_LIST = 16;
  private static final long NUM_SGE = 24;

  private final Arena arena = Arena.ofShared();
  private final long firstRequest;
  private final long firstEntry;
  private final long entryBytes;
  private final int maxSge;

  /** 0 once the memory is freed, so that no request can be added. */
  private int capacity;

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
    entryBytes = maxSge * SGE_BYTES;
    firstRequest = arena.allocate(capacity * WR_BYTES, 64).address();
    firstEntry = arena.allocate(capacity * entryBytes, 64).address();
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
    return add(wrId, firstEntry + size * entryBytes, 0);
  }

  /**
   * Adds a request whose scatter entries are a row of a table, which stay as they are until the
   * post.
   */
  public ReceiveList add(long wrId, ScatterTable table, int row) {
    return add(wrId, table.address(row), table.entries());
  }

  private ReceiveList add(long wrId, long sgList, int sgeCount) {
    if (size == capacity) {
      throw new IllegalStateException("receive list is full: " + capacity + " work requests");
    }
    long wr = firstRequest + size * WR_BYTES;
    putLong(wr + WR_ID, wrId);
    putLong(wr + NEXT, 0L);
    putLong(wr + SG_LIST, sgList);
    putInt(wr + NUM_SGE, sgeCount);
    if (size > 0) {
      putLong(wr - WR_BYTES + NEXT, wr);
    }
    size++;
    return this;
  }

  /** Appends a scatter entry to the request started last. */
  public ReceiveList scatter(long address, int lengthBytes, int lkey) {
    if (size == 0) {
      throw new IllegalStateException("no work request was started");
    }
    long wr = firstRequest + (size - 1L) * WR_BYTES;
    int count = getInt(wr + NUM_SGE);
    if (count >= maxSge) {
      throw new IllegalStateException("work request is full: " + maxSge + " scatter entries");
    }
    long own = firstEntry + (size - 1L) * entryBytes;
    if (getLong(wr + SG_LIST) != own) {
      throw new IllegalStateException("the scatter entries of this request are those of a table");
    }
    long sge = own + count * SGE_BYTES;
    putLong(sge, address);
    putInt(sge + 8, lengthBytes);
    putInt(sge + 12, lkey);
    putInt(wr + NUM_SGE, count + 1);
    return this;
  }

  /** Returns the address of the first request, as ibv_post_recv wants it. */
  public long address() {
    return firstRequest;
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
    return errno == 0 ? size : (int) ((badRequestAddress - firstRequest) / WR_BYTES);
  }

  /**
   * Drops the first {@code count} requests, so that the next post starts with the one that the last
   * post refused.
   */
  public void dropFirst(int count) {
    Objects.checkIndex(count, size + 1);
    int left = size - count;
    for (int i = 0; i < left; i++) {
      long wr = firstRequest + i * WR_BYTES;
      long entries = firstEntry + i * entryBytes;
      copy(wr + count * WR_BYTES, wr, WR_BYTES);
      if (getLong(wr + SG_LIST) == entries + count * entryBytes) {
        copy(entries + count * entryBytes, entries, entryBytes);
        putLong(wr + SG_LIST, entries);
      }
      putLong(wr + NEXT, i == left - 1 ? 0L : wr + WR_BYTES);
    }
    size = left;
    errno = 0;
  }

  /** Returns wr_id of request {@code i}. */
  public long wrId(int i) {
    return getLong(at(i) + WR_ID);
  }

  /** Returns the number of scatter entries of request {@code i}. */
  public int sgeCount(int i) {
    return getInt(at(i) + NUM_SGE);
  }

  /** Returns the address of scatter entry {@code j} of request {@code i}. */
  public long sgeAddress(int i, int j) {
    return getLong(sgeAt(i, j));
  }

  /** Returns the length of scatter entry {@code j} of request {@code i}. */
  public int sgeLengthBytes(int i, int j) {
    return getInt(sgeAt(i, j) + 8);
  }

  /** Returns the lkey of scatter entry {@code j} of request {@code i}. */
  public int sgeLkey(int i, int j) {
    return getInt(sgeAt(i, j) + 12);
  }

  private long at(int i) {
    return firstRequest + Objects.checkIndex(i, size) * WR_BYTES;
  }

  private long sgeAt(int i, int j) {
    Objects.checkIndex(j, sgeCount(i));
    return getLong(at(i) + SG_LIST) + j * SGE_BYTES;
  }

  /** Frees the native memory. The list must not be in a post call. */
  @Override
  public void close() {
    if (arena.scope().isAlive()) {
      size = 0; // so that a post of a closed list posts nothing
      capacity = 0;
      arena.close();
    }
  }
}
