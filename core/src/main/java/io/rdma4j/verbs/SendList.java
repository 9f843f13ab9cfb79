package io.rdma4j.verbs;

import static io.rdma4j.os.StructFields.copy;
import static io.rdma4j.os.StructFields.getInt;
import static io.rdma4j.os.StructFields.getLong;
import static io.rdma4j.os.StructFields.putInt;
import static io.rdma4j.os.StructFields.putLong;

import java.lang.foreign.Arena;
import java.util.Objects;

/**
 * A reusable list of send work requests in the memory layout of libibverbs, posted with one
 * doorbell.
 *
 * <p>Single thread only. Owned by whoever creates it. Adding, posting and clearing allocate
 * nothing.
 *
 * <pre>
 *  struct ibv_send_wr, 128 bytes each          struct ibv_sge, 16 bytes each
 *    0  wr_id        8                           0  addr     8
 *    8  next         8                           8  length   4
 *   16  sg_list      8                          12  lkey     4
 *   24  num_sge      4
 *   28  opcode       4
 *   32  send_flags   4
 *   36  imm_data     4  (big endian)
 *   40  remote_addr  8
 *   48  rkey         4  (atomics: compare_add at 48, swap at 56, rkey at 64)
 * </pre>
 */
public final class SendList implements AutoCloseable {
  /** Starts only when the reads and atomics before it have ended. */
  public static final int FENCE = 1 << 0;

  /** Asks for a completion. */
  public static final int SIGNALED = 1 << 1;

  /** Raises a solicited event at the receiver. */
  public static final int SOLICITED = 1 << 2;

  /** Copies the data into the work request, so that the memory is free again after the post. */
  public static final int INLINE = 1 << 3;

  /** RDMA write. */
  public static final int OP_RDMA_WRITE = 0;

  /** RDMA write that also consumes a receive and delivers 32 bits. */
  public static final int OP_RDMA_WRITE_WITH_IMM = 1;

  /** Message. */
  public static final int OP_SEND = 2;

  /** Message with 32 bits beside it. */
  public static final int OP_SEND_WITH_IMM = 3;

  /** RDMA read. */
  public static final int OP_RDMA_READ = 4;

  /** 64-bit compare and swap. */
  public static final int OP_COMPARE_AND_SWAP = 5;

  /** 64-bit fetch and add. */
  public static final int OP_FETCH_AND_ADD = 6;

  static final long WR_BYTES = 128;
  static final long SGE_BYTES = 16;
  private static final long WR_ID = 0;
  private static final long NEXT = 8;
  private static final long SG_LIST = 16;
  private static final long NUM_SGE = 24;
  private static final long OPCODE = 28;
  private static final long SEND_FLAGS = 32;
  private static final long IMM_DATA = 36;
  private static final long REMOTE_ADDRESS = 40;
  private static final long RKEY = 48;
  private static final long COMPARE_ADD = 48;
  private static final long SWAP = 56;
  private static final long ATOMIC_RKEY = 64;

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
   * @param maxSge gather entries of each
   */
  public SendList(int capacity, int maxSge) {
    if (capacity < 1 || maxSge < 1) {
      throw new IllegalArgumentException(
          "a send list needs capacity >= 1 and maxSge >= 1, not " + capacity + " and " + maxSge);
    }
    this.capacity = capacity;
    this.maxSge = maxSge;
    entryBytes = maxSge * SGE_BYTES;
    firstRequest = arena.allocate(capacity * WR_BYTES, 64).address();
    firstEntry = arena.allocate(capacity * entryBytes, 64).address();
    for (int i = 0; i < capacity; i++) {
      putLong(firstRequest + i * WR_BYTES + SG_LIST, firstEntry + i * entryBytes);
    }
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

  /** Returns the gather entries that fit in each. */
  public int maxSge() {
    return maxSge;
  }

  /** Returns the errno of the last post, 0 when all requests were taken. */
  public int errno() {
    return errno;
  }

  /** Starts the next request, without gather entries. */
  public SendList add(long wrId, int opcode, int flags) {
    if (size == capacity) {
      throw new IllegalStateException("send list is full: " + capacity + " work requests");
    }
    long wr = firstRequest + size * WR_BYTES;
    putLong(wr + WR_ID, wrId);
    putLong(wr + NEXT, 0L);
    putInt(wr + NUM_SGE, 0);
    putInt(wr + OPCODE, opcode);
    putInt(wr + SEND_FLAGS, flags);
    putInt(wr + IMM_DATA, 0);
    if (size > 0) {
      putLong(wr - WR_BYTES + NEXT, wr);
    }
    size++;
    return this;
  }

  /** Makes the request started last ask for a completion, which stands for all before it. */
  public SendList signalLast() {
    long wr = lastRequest();
    putInt(wr + SEND_FLAGS, getInt(wr + SEND_FLAGS) | SIGNALED);
    return this;
  }

  /** Appends a gather entry to the request started last. An empty message has none. */
  public SendList gather(long address, int lengthBytes, int lkey) {
    long wr = lastRequest();
    int count = getInt(wr + NUM_SGE);
    if (count == maxSge) {
      throw new IllegalStateException("work request is full: " + maxSge + " gather entries");
    }
    long sge = firstEntry + (size - 1L) * entryBytes + count * SGE_BYTES;
    putLong(sge, address);
    putInt(sge + 8, lengthBytes);
    putInt(sge + 12, lkey);
    putInt(wr + NUM_SGE, count + 1);
    return this;
  }

  /** Sets the 32 bits delivered beside the message started last. */
  public SendList withImmediate(int value) {
    putInt(lastRequest() + IMM_DATA, Integer.reverseBytes(value));
    return this;
  }

  /** Sets the remote memory of the RDMA read or write started last. */
  public SendList remote(long address, int rkey) {
    long wr = lastRequest();
    putLong(wr + REMOTE_ADDRESS, address);
    putInt(wr + RKEY, rkey);
    return this;
  }

  /** Sets the remote word and operands of the atomic started last. */
  public SendList atomic(long address, int rkey, long compareOrAdd, long swap) {
    long wr = lastRequest();
    putLong(wr + REMOTE_ADDRESS, address);
    putLong(wr + COMPARE_ADD, compareOrAdd);
    putLong(wr + SWAP, swap);
    putInt(wr + ATOMIC_RKEY, rkey);
    return this;
  }

  /** Takes back the request started last. */
  public void dropLast() {
    long wr = lastRequest();
    if (size > 1) {
      putLong(wr - WR_BYTES + NEXT, 0L);
    }
    size--;
  }

  private long lastRequest() {
    if (size == 0) {
      throw new IllegalStateException("no work request was started");
    }
    return firstRequest + (size - 1L) * WR_BYTES;
  }

  /** Returns the address of the first request, as ibv_post_send wants it. */
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
      copy(entries + count * entryBytes, entries, entryBytes);
      putLong(wr + SG_LIST, entries);
      putLong(wr + NEXT, i == left - 1 ? 0L : wr + WR_BYTES);
    }
    size = left;
    errno = 0;
  }

  /** Returns wr_id of request {@code i}. */
  public long wrId(int i) {
    return getLong(at(i) + WR_ID);
  }

  /** Returns the opcode of request {@code i}. */
  public int opcode(int i) {
    return getInt(at(i) + OPCODE);
  }

  /** Returns the flags of request {@code i}. */
  public int flags(int i) {
    return getInt(at(i) + SEND_FLAGS);
  }

  /** Returns the immediate data of request {@code i}. */
  public int immediate(int i) {
    return Integer.reverseBytes(getInt(at(i) + IMM_DATA));
  }

  /** Returns the remote address of request {@code i}. */
  public long remoteAddress(int i) {
    return getLong(at(i) + REMOTE_ADDRESS);
  }

  /** Returns the rkey of the RDMA read or write {@code i}. */
  public int rkey(int i) {
    return getInt(at(i) + RKEY);
  }

  /** Returns the number of gather entries of request {@code i}. */
  public int sgeCount(int i) {
    return getInt(at(i) + NUM_SGE);
  }

  /** Returns the address of gather entry {@code j} of request {@code i}. */
  public long sgeAddress(int i, int j) {
    return getLong(sgeAt(i, j));
  }

  /** Returns the length of gather entry {@code j} of request {@code i}. */
  public int sgeLengthBytes(int i, int j) {
    return getInt(sgeAt(i, j) + 8);
  }

  /** Returns the lkey of gather entry {@code j} of request {@code i}. */
  public int sgeLkey(int i, int j) {
    return getInt(sgeAt(i, j) + 12);
  }

  private long at(int i) {
    return firstRequest + Objects.checkIndex(i, size) * WR_BYTES;
  }

  private long sgeAt(int i, int j) {
    Objects.checkIndex(j, sgeCount(i));
    return firstEntry + i * entryBytes + j * SGE_BYTES;
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
