package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

class MappingTest {
  private static final long PAGE = Mapping.pageSizeBytes();

  @Test
  void mapsWholeZeroedPages() {
    try (Mapping mapping = Mapping.anonymous(PAGE + 1, Mapping.Option.POPULATE)) {
      assertEquals(2 * PAGE, mapping.lengthBytes());
      assertEquals(0, mapping.address() % PAGE);
      assertEquals(0, mapping.segment().get(ValueLayout.JAVA_LONG, 2 * PAGE - 8));
      mapping.segment().fill((byte) 7);
    }
  }

  @Test
  void hugePagesAreAligned() {
    try (Mapping mapping =
        Mapping.anonymous(
            4 << 20, HugePages.TRANSPARENT, Mapping.Option.POPULATE, Mapping.Option.DONT_FORK)) {
      assertEquals(0, mapping.address() % Mapping.HUGE_PAGE_BYTES);
      assertTrue(isMapped(mapping.address()));
      mapping.segment().set(ValueLayout.JAVA_LONG, mapping.lengthBytes() - 8, 1);
    }
  }

  @Test
  void closeUnmapsAndFailsLaterAccess() {
    Mapping mapping = Mapping.anonymous(PAGE);
    MemorySegment segment = mapping.segment().asSlice(8, 8);
    long address = mapping.address();
    assertTrue(isMapped(address));
    mapping.close();
    mapping.close();
    assertFalse(isMapped(address));
    assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_LONG, 0));
  }

  @Test
  void refusedMappingNamesCallValuesAndErrno() {
    OsException e = assertThrows(OsException.class, () -> Mapping.anonymous(1L << 62));
    assertEquals("mmap", e.call());
    assertEquals(Errno.ENOMEM, e.errno());
    assertTrue(String.valueOf(e.getMessage()).contains("4611686018427387904"), e.getMessage());
    assertTrue(String.valueOf(e.getMessage()).contains("ENOMEM"), e.getMessage());
    assertThrows(IllegalArgumentException.class, () -> Mapping.anonymous(0));
    assertThrows(IllegalArgumentException.class, () -> Mapping.anonymous(Long.MAX_VALUE));
  }

  @Test
  void memoryFileIsSharedByItsMappings() {
    MemoryFile file = MemoryFile.create("rdma4j-test", 3 * PAGE - 1);
    assertEquals(3 * PAGE, file.lengthBytes());
    try (Mapping one = file.map(Mapping.Option.POPULATE);
        Mapping other = file.map()) {
      one.segment().set(ValueLayout.JAVA_LONG, 2 * PAGE, 42);
      assertEquals(42, other.segment().get(ValueLayout.JAVA_LONG, 2 * PAGE));
      file.close();
      file.close();
      assertThrows(IllegalStateException.class, file::map);
      assertEquals(42, one.segment().get(ValueLayout.JAVA_LONG, 2 * PAGE));
    }
  }

  @Test
  void refusedMemoryFileNamesCallAndErrno() {
    OsException e = assertThrows(OsException.class, () -> MemoryFile.create("x".repeat(300), PAGE));
    assertEquals("memfd_create", e.call());
    assertEquals(Errno.EINVAL, e.errno());
  }

  private static boolean isMapped(long address) {
    return SystemRoot.host().readLines("/proc/self/maps").stream()
        .anyMatch(line -> contains(line, address));
  }

  private static boolean contains(String line, long address) {
    String[] range = line.substring(0, line.indexOf(' ')).split("-", 2);
    return Long.compareUnsigned(Long.parseUnsignedLong(range[0], 16), address) <= 0
        && Long.compareUnsigned(address, Long.parseUnsignedLong(range[1], 16)) < 0;
  }
}
