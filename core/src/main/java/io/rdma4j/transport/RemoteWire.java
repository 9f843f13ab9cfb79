package io.rdma4j.transport;

import io.rdma4j.provider.OneSided;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * One-sided operations as messages, little endian.
 *
 * <pre>
 *  REMOTE                              REMOTE_DONE
 *   0  opcode        2                  0  status       4
 *   2  wants a key   2  0 or 1
 *   4  length        4  bytes           4  length       4  bytes read, else 0
 *   8  region id     8                  8  value        8  old word of an atomic, else 0
 *  16  offset        8                 16  bytes read
 *  24  operand       8  immediate, addend or expected value
 *  32  desired       8  of a compare-and-swap
 *  40  bytes to write
 * </pre>
 */
final class RemoteWire {
  static final int READ = OneSided.READ;
  static final int WRITE = OneSided.WRITE;
  static final int WRITE_IMMEDIATE = OneSided.WRITE_IMMEDIATE;
  static final int FETCH_ADD = OneSided.FETCH_ADD;
  static final int COMPARE_AND_SWAP = OneSided.COMPARE_AND_SWAP;

  static final int DONE = 0;
  static final int NO_REGION = 1;
  static final int OUT_OF_BOUNDS = 2;
  static final int NO_RIGHT = 3;
  static final int NOT_ALIGNED = 4;

  static final int REQUEST_BYTES = 40;
  static final int DONE_BYTES = 16;

  /** Length of what an atomic works on. */
  static final int WORD_BYTES = 8;

  private static final int WANTS_KEY = 1 << 16;

  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  private RemoteWire() {}

  static void writeRequest(
      MemorySegment to,
      int opcode,
      boolean wantsKey,
      int lengthBytes,
      long regionId,
      long regionOffset,
      long operand,
      long desired) {
    to.set(INT, 0, opcode | (wantsKey ? WANTS_KEY : 0));
    to.set(INT, 4, lengthBytes);
    to.set(LONG, 8, regionId);
    to.set(LONG, 16, regionOffset);
    to.set(LONG, 24, operand);
    to.set(LONG, 32, desired);
  }

  static void writeDone(MemorySegment to, int status, int lengthBytes, long value) {
    to.set(INT, 0, status);
    to.set(INT, 4, lengthBytes);
    to.set(LONG, 8, value);
  }

  static int opcode(MemorySegment from, long at) {
    return from.get(INT, at) & ~WANTS_KEY;
  }

  static boolean wantsKey(MemorySegment from, long at) {
    return (from.get(INT, at) & WANTS_KEY) != 0;
  }

  static int lengthBytes(MemorySegment from, long at) {
    return from.get(INT, at + 4);
  }

  static long regionId(MemorySegment from, long at) {
    return from.get(LONG, at + 8);
  }

  static long regionOffset(MemorySegment from, long at) {
    return from.get(LONG, at + 16);
  }

  static long operand(MemorySegment from, long at) {
    return from.get(LONG, at + 24);
  }

  static int immediate(MemorySegment from, long at) {
    return (int) operand(from, at);
  }

  static long desired(MemorySegment from, long at) {
    return from.get(LONG, at + 32);
  }

  static int status(MemorySegment from, long at) {
    return from.get(INT, at);
  }

  static long value(MemorySegment from, long at) {
    return from.get(LONG, at + 8);
  }

  static String statusText(int status) {
    return switch (status) {
      case NO_REGION -> "the region is not exported, or not any more";
      case OUT_OF_BOUNDS -> "the region is not that long";
      case NO_RIGHT -> "the region is not exported for this operation";
      case NOT_ALIGNED -> "atomics need an address that is a multiple of 8";
      default -> "unknown status " + status;
    };
  }
}
