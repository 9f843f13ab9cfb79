package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MemoryLockTest {
  @Test
  void readsTheSoftLimit(@TempDir Path directory) throws Exception {
    Path limits = directory.resolve("limits");
    Files.writeString(
        limits,
        """
        Limit                     Soft Limit           Hard Limit           Units
        Max processes             95826                95826                processes
        Max locked memory         8388608              unlimited            bytes
        """);
    assertEquals(8388608, MemoryLock.limitBytes(limits));
    Files.writeString(limits, "Max locked memory         unlimited            unlimited  bytes\n");
    assertEquals(MemoryLock.UNLIMITED, MemoryLock.limitBytes(limits));
    Files.writeString(limits, "");
    assertThrows(IllegalStateException.class, () -> MemoryLock.limitBytes(limits));
  }

  @Test
  void knowsThisSystem() {
    assertTrue(MemoryLock.limitBytes() >= 0);
    assertEquals(1, Long.bitCount(MemoryLock.pageBytes()));
    assertTrue(MemoryLock.pageBytes() >= 4096);
  }
}
