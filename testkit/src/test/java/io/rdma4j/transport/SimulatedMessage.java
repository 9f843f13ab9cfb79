package io.rdma4j.transport;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** What the n-th message of an end looks like: length and every byte follow from its key. */
final class SimulatedMessage {
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  private SimulatedMessage() {}

  /** Returns the key of a message of its own, which no other message of the run has. */
  static long key(long connection, int end, long number) {
    return mix(connection * 2 + end + 1) ^ mix(~number);
  }

  /** Returns the key of the reply to the request with this key. */
  static long replyKey(long requestKey) {
    return mix(requestKey + GOLDEN);
  }

  /** Returns the length: often empty, small, or the longest there is. */
  static int lengthBytes(long key, int maxBytes) {
    return switch ((int) (key >>> 60) & 7) {
      case 0 -> 0;
      case 1 -> maxBytes;
      case 2, 3, 4 -> (int) Long.remainderUnsigned(key, Math.min(64, maxBytes + 1));
      default -> (int) Long.remainderUnsigned(key, maxBytes + 1L);
    };
  }

  static void fill(MemorySegment memory, long key, int lengthBytes) {
    for (int i = 0; i < lengthBytes; i++) {
      memory.set(ValueLayout.JAVA_BYTE, i, at(key, i));
    }
  }

  /** Returns the first position that differs, or -1. */
  static int mismatch(MemorySegment memory, long offset, long key, int lengthBytes) {
    for (int i = 0; i < lengthBytes; i++) {
      if (memory.get(ValueLayout.JAVA_BYTE, offset + i) != at(key, i)) {
        return i;
      }
    }
    return -1;
  }

  private static byte at(long key, int i) {
    return (byte) ((key >>> (i & 63)) + i * 31L);
  }

  private static long mix(long value) {
    long z = value * GOLDEN;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
