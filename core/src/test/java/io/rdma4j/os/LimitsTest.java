package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LimitsTest {
  @TempDir Path directory;

  @Test
  void readsBytes() throws Exception {
    Limits limits = Limits.lockedMemory(TestRoots.withLimits("8MiB", directory)).orElseThrow();
    assertEquals(8388608, limits.softBytes());
    assertEquals(8388608, limits.hardBytes());
    assertEquals("8388608 bytes (hard: 8388608 bytes, from /proc/self/limits)", limits.describe());
    assertFalse(limits.isUnlimited());
  }

  @Test
  void readsSmallLimit() throws Exception {
    Limits limits = Limits.lockedMemory(TestRoots.withLimits("64KiB", directory)).orElseThrow();
    assertEquals(65536, limits.softBytes());
  }

  @Test
  void readsUnlimited() throws Exception {
    Limits limits = Limits.lockedMemory(TestRoots.withLimits("unlimited", directory)).orElseThrow();
    assertTrue(limits.isUnlimited());
    assertEquals(Limits.UNLIMITED, limits.hardBytes());
  }

  @Test
  void missingOrForeignFileIsAbsent() throws Exception {
    assertEquals(Optional.empty(), Limits.lockedMemory(SystemRoot.at(directory)));
    Path file = directory.resolve("proc/self/limits");
    Files.createDirectories(file.getParent());
    Files.writeString(file, "Max locked memory         much                 more   bytes\n");
    assertEquals(Optional.empty(), Limits.lockedMemory(SystemRoot.at(directory)));
  }

  @Test
  void kernelAndProcAgreeOnThisProcess() {
    Limits asked = Limits.ofThisProcess();
    Limits read = Limits.lockedMemory(SystemRoot.host()).orElseThrow();
    assertEquals(read.softBytes(), asked.softBytes());
    assertEquals(read.hardBytes(), asked.hardBytes());
  }
}
