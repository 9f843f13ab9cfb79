package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Lengths beyond 32 bits are cut into pieces that make up the whole. */
final class LargeWireTest {
  /** Field case O-18: two and four pieces of a port that takes 1 GiB, and the class of it. */
  @ParameterizedTest
  @CsvSource({
    "1073741828, 1073741824, 2, 4",
    "4294967296, 1073741824, 4, 1073741824",
    "1099511627776, 1073741824, 1024, 1073741824",
    "1099511627776, 2147483647, 513, 512",
    "1099511627775, 1048576, 1048576, 1048575",
    "2147483648, 2147483647, 2, 1",
    "4294967297, 4194304, 1025, 1",
    "1, 1073741824, 1, 1",
    "0, 1073741824, 0, 0",
  })
  void piecesMakeUpTheWhole(long lengthBytes, int limitBytes, long pieces, int lastBytes) {
    long position = 0;
    long count = 0;
    int last = 0;
    while (position < lengthBytes) {
      last = LargeWire.nextBytes(position, lengthBytes, limitBytes);
      assertTrue(last > 0 && last <= limitBytes, "at " + position + ": " + last);
      position += last;
      count++;
    }
    assertEquals(lengthBytes, position);
    assertEquals(pieces, count);
    assertEquals(lastBytes, last);
  }
}
