package io.rdma4j.bench.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class SpscRingTest {
  @Test
  void slotsComeInOrderAndRunOutWhenNoneIsGivenBack() {
    SpscRing ring = new SpscRing(2);
    assertEquals(-1, ring.take());
    assertEquals(0, ring.claim());
    ring.publish();
    assertEquals(1, ring.claim());
    ring.publish();
    assertEquals(-1, ring.claim());

    assertEquals(0, ring.take());
    assertEquals(-1, ring.claim());
    ring.giveBack();
    assertEquals(0, ring.claim());
    assertEquals(1, ring.take());
  }

  @Test
  void aClaimedSlotIsNotSeenBeforeItIsPublished() {
    SpscRing ring = new SpscRing(4);
    assertEquals(0, ring.claim());
    assertEquals(-1, ring.take());
    assertEquals(0, ring.claim());
    ring.publish();
    assertEquals(0, ring.take());
  }

  @Test
  void whatLiesInASlotArrivesWithIt() throws Exception {
    int messages = 1_000_000;
    SpscRing ring = new SpscRing(64);
    long[] slots = new long[64];
    CompletableFuture<Long> sum =
        CompletableFuture.supplyAsync(
            () -> {
              long total = 0;
              for (int i = 0; i < messages; i++) {
                int slot;
                while ((slot = ring.take()) < 0) {
                  Thread.onSpinWait();
                }
                if (slots[slot] != i) {
                  throw new AssertionError("message %d was %d".formatted(i, slots[slot]));
                }
                total += slots[slot];
                ring.giveBack();
              }
              return total;
            });
    for (int i = 0; i < messages; i++) {
      int slot;
      while ((slot = ring.claim()) < 0) {
        if (sum.isCompletedExceptionally()) {
          break;
        }
        Thread.onSpinWait();
      }
      if (slot >= 0) {
        slots[slot] = i;
        ring.publish();
      }
    }
    assertEquals((long) messages * (messages - 1) / 2, sum.get(50, TimeUnit.SECONDS));
  }

  @Test
  void theCapacityIsAPowerOfTwo() {
    assertThrows(IllegalArgumentException.class, () -> new SpscRing(3));
  }
}
