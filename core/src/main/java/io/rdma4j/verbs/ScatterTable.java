package io.rdma4j.verbs;

import static io.rdma4j.os.StructFields.putInt;
import static io.rdma4j.os.StructFields.putLong;

import java.lang.foreign.Arena;
import java.util.Objects;

/**
 * Scatter entries of receives that are posted again and again, written once: {@link
 * ReceiveList#add(long, ScatterTable, int)} only points at them.
 *
 * <p>Owned by whoever creates it, who closes it when no list points here any more. A row is written
 * and posted by one thread at a time; different rows may belong to different threads.
 *
 * <pre>
 *  row n   struct ibv_sge, 16 bytes each: entry 0, entry 1, ...
 * </pre>
 */
public final class ScatterTable implements AutoCloseable {
  private final Arena arena = Arena.ofShared();
  private final long first;
  private final int entries;
  private final long rowBytes;

  /** 0 once the memory is freed. */
  private int rows;

  /**
   * Creates a table of zeros.
   *
   * @param rows receives
   * @param entries scatter entries of each
   */
  public ScatterTable(int rows, int entries) {
    if (rows < 1 || entries < 1) {
      throw new IllegalArgumentException(
          "a scatter table needs rows >= 1 and entries >= 1, not " + rows + " and " + entries);
    }
    this.rows = rows;
    this.entries = entries;
    rowBytes = entries * ReceiveList.SGE_BYTES;
    first = arena.allocate(rows * rowBytes, 64).address();
  }

  /** Writes an entry. */
  public void set(int row, int entry, long address, int lengthBytes, int lkey) {
    long sge = address(row) + Objects.checkIndex(entry, entries) * ReceiveList.SGE_BYTES;
    putLong(sge, address);
    putInt(sge + 8, lengthBytes);
    putInt(sge + 12, lkey);
  }

  /** Returns the entries of a row. */
  public int entries() {
    return entries;
  }

  /** Returns the address of a row, as sg_list wants it. */
  long address(int row) {
    return first + Objects.checkIndex(row, rows) * rowBytes;
  }

  /** Frees the native memory. */
  @Override
  public void close() {
    if (arena.scope().isAlive()) {
      rows = 0;
      arena.close();
    }
  }
}
