package io.rdma4j.verbs;

import static io.rdma4j.os.StructFields.getInt;
import static io.rdma4j.os.StructFields.getLong;
import static io.rdma4j.os.StructFields.putInt;
import static io.rdma4j.os.StructFields.putLong;

import java.lang.foreign.Arena;
import java.util.Objects;

/**
 * A reusable batch of completions in the memory layout of libibverbs.
 *
 * <p>Single thread only. Owned by whoever creates it. Reading allocates nothing.
 *
 * <pre>
 *  struct ibv_wc, 48 bytes each
 *    0  wr_id       8
 *    8  status      4   {@link #SUCCESS} or an error; then only wr_id, qp_num, vendor_err are valid
 *   12  opcode      4
 *   16  vendor_err  4
 *   20  byte_len    4
 *   24  imm_data    4   (big endian)
 *   28  qp_num      4
 *   32  src_qp      4
 *   36  wc_flags    4
 * </pre>
 */
public final class Completions implements AutoCloseable {
  /** Status of a request that was done. */
  public static final int SUCCESS = 0;

  /** Status of a request given back because its queue pair is in error (IBV_WC_WR_FLUSH_ERR). */
  public static final int FLUSHED = 5;

  /** Bit of the opcode that is set for receives. */
  public static final int OPCODE_RECEIVE = 1 << 7;

  /** Opcode of a receive consumed by a write with immediate. */
  public static final int OPCODE_RECEIVE_WRITE_WITH_IMM = OPCODE_RECEIVE + 1;

  /** Bit of the flags that says the completion carries immediate data. */
  public static final int FLAG_WITH_IMM = 1 << 1;

  private static final long WC_BYTES = 48;
  private static final long WR_ID = 0;
  private static final long STATUS = 8;
  private static final long OPCODE = 12;
  private static final long VENDOR_ERROR = 16;
  private static final long BYTE_LENGTH = 20;
  private static final long IMM_DATA = 24;
  private static final long QP_NUMBER = 28;
  private static final long FLAGS = 36;

  private static final String[] STATUS_TEXT = {
    "success",
    "local length error",
    "local queue pair operation error",
    "local end-to-end context error",
    "local protection error",
    "work request flushed",
    "memory window bind error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "receiver-not-ready retry counter exceeded",
    "local reliable datagram domain violation",
    "remote invalid reliable datagram request",
    "remote aborted",
    "invalid end-to-end context number",
    "invalid end-to-end context state",
    "fatal error",
    "response timeout",
    "general error",
  };

  private final Arena arena = Arena.ofShared();
  private final long first;
  private int capacity;

  /** Creates a batch of up to {@code capacity} completions. */
  public Completions(int capacity) {
    if (capacity < 1) {
      throw new IllegalArgumentException("a batch needs capacity >= 1, not " + capacity);
    }
    this.capacity = capacity;
    first = arena.allocate(capacity * WC_BYTES, 64).address();
  }

  /** Returns the name of a status (enum ibv_wc_status), for messages. */
  public static String statusText(int status) {
    return status >= 0 && status < STATUS_TEXT.length
        ? STATUS_TEXT[status]
        : "unknown status " + status;
  }

  /** Returns how many fit. */
  public int capacity() {
    return capacity;
  }

  /** Returns the address of the first entry, as ibv_poll_cq wants it. */
  public long address() {
    return first;
  }

  /** Returns the wr_id given at the post. */
  public long wrId(int i) {
    return getLong(at(i) + WR_ID);
  }

  /** Returns {@link #SUCCESS} or an error. */
  public int status(int i) {
    return getInt(at(i) + STATUS);
  }

  /** Returns the opcode; undefined unless the status is {@link #SUCCESS}. */
  public int opcode(int i) {
    return getInt(at(i) + OPCODE);
  }

  /** Returns the vendor's detail of an error. */
  public int vendorError(int i) {
    return getInt(at(i) + VENDOR_ERROR);
  }

  /** Returns the bytes received. */
  public int lengthBytes(int i) {
    return getInt(at(i) + BYTE_LENGTH);
  }

  /** Returns the immediate data; meaningful only with {@link #FLAG_WITH_IMM}. */
  public int immediate(int i) {
    return Integer.reverseBytes(getInt(at(i) + IMM_DATA));
  }

  /** Returns the number of the queue pair. */
  public int queuePairNumber(int i) {
    return getInt(at(i) + QP_NUMBER);
  }

  /** Returns the flags. */
  public int flags(int i) {
    return getInt(at(i) + FLAGS);
  }

  /**
   * Fills entry {@code i}; for implementations of {@link CompletionQueue} that are not libibverbs.
   */
  public void set(
      int i,
      long wrId,
      int status,
      int opcode,
      int vendorError,
      int lengthBytes,
      int immediate,
      int queuePairNumber,
      int flags) {
    long wc = at(i);
    putLong(wc + WR_ID, wrId);
    putInt(wc + STATUS, status);
    putInt(wc + OPCODE, opcode);
    putInt(wc + VENDOR_ERROR, vendorError);
    putInt(wc + BYTE_LENGTH, lengthBytes);
    putInt(wc + IMM_DATA, Integer.reverseBytes(immediate));
    putInt(wc + QP_NUMBER, queuePairNumber);
    putInt(wc + FLAGS, flags);
  }

  private long at(int i) {
    return first + Objects.checkIndex(i, capacity) * WC_BYTES;
  }

  /** Frees the native memory. The batch must not be in a poll call. */
  @Override
  public void close() {
    if (arena.scope().isAlive()) {
      capacity = 0; // so that a poll into a closed batch moves nothing
      arena.close();
    }
  }
}
