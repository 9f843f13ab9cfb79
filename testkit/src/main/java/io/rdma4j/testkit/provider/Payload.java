package io.rdma4j.testkit.provider;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Message contents that follow from a seed and a number, so that the receiver can check every byte
 * of a message without having seen the original. Filling and checking allocate nothing.
 */
public final class Payload {
  private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;

  private Payload() {}

  /**
   * Fills {@code lengthBytes} from {@code offset} on with the content of message {@code number}.
   */
  public static void fill(
      MemorySegment memory, long offset, int lengthBytes, long seed, long number) {
    int i = 0;
    for (; i + 8 <= lengthBytes; i += 8) {
      memory.set(LONG, offset + i, word(seed, number, i));
    }
    for (; i < lengthBytes; i++) {
      memory.set(ValueLayout.JAVA_BYTE, offset + i, (byte) word(seed, number, i));
    }
  }

  /** Returns the index of the first byte group that is wrong, -1 when all is right. */
  public static int mismatch(
      MemorySegment memory, long offset, int lengthBytes, long seed, long number) {
    int i = 0;
    for (; i + 8 <= lengthBytes; i += 8) {
      if (memory.get(LONG, offset + i) != word(seed, number, i)) {
        return i;
      }
    }
    for (; i < lengthBytes; i++) {
      if (memory.get(ValueLayout.JAVA_BYTE, offset + i) != (byte) word(seed, number, i)) {
        return i;
      }
    }
    return -1;
  }

  /** Returns the length of message {@code number}: 0 to {@code maxBytes}, small ones favoured. */
  public static int lengthBytes(long seed, long number, int maxBytes) {
    long bits = word(seed, number, -1);
    int most = (bits & 7) == 0 ? maxBytes : Math.min(maxBytes, 200);
    return (int) Long.remainderUnsigned(bits >>> 3, most + 1L);
  }

  /** One step of the splitmix64 generator at a position of its sequence. */
  private static long word(long seed, long number, int index) {
    long z = seed + 0x9E3779B97F4A7C15L * (number * 1_000_003L + index + 1);
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
