package io.rdma4j.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class PinnedMemoryTest {
  @Test
  void countsWholePagesOfEachRegistration() {
    PinnedMemory pinned = new PinnedMemory(4096, () -> 65536);
    for (int i = 0; i < 8; i++) {
      pinned.pinned(0x10000L * i + 16, 4096);
    }
    assertEquals(65536, pinned.pinnedBytes());
    assertEquals(4096, pinned.footprintBytes(0x1000, 1));
    assertEquals(8192, pinned.footprintBytes(0x1fff, 2));
    assertEquals((1L << 32) + 4096, pinned.footprintBytes(0, (1L << 32) + 1));
    for (int i = 0; i < 8; i++) {
      pinned.unpinned(0x10000L * i + 16, 4096);
    }
    assertEquals(0, pinned.pinnedBytes());
  }

  @Test
  void explainsTheLimit() {
    PinnedMemory pinned = new PinnedMemory(4096, () -> 8388608);
    pinned.pinned(0x1000, 4096);
    String text = pinned.explain(16777216);
    for (String part :
        new String[] {
          "8388608 bytes", "16777216 bytes", " 4096 bytes", "ulimit -l", "CAP_IPC_LOCK"
        }) {
      assertTrue(text.contains(part), () -> "\"" + part + "\" in: " + text);
    }
    String unlimited = new PinnedMemory(4096, () -> Long.MAX_VALUE).explain(0);
    assertTrue(unlimited.contains("no locked-memory limit"), unlimited);
  }

  @Test
  void refusesAPageSizeThatIsNone() {
    assertThrows(IllegalArgumentException.class, () -> new PinnedMemory(1000, () -> 0));
  }
}
