package io.rdma4j.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The meters find what they are there to find. */
@Timeout(60)
final class MetersTest {
  private long[] kept = new long[0];
  private long counted;

  @Test
  void allocationIsMeasuredPerOperation() {
    double bytes = AllocationMeter.bytesPerOperation(1000, 1000, () -> kept = new long[10]);
    assertEquals(96, bytes, 8);
    assertEquals(10, kept.length);
    double none = AllocationMeter.bytesPerOperation(20_000, 10_000, () -> counted++);
    assertTrue(none < AllocationMeter.NONE, () -> none + " bytes in " + counted);
  }

  @Test
  void anOpenFileIsALeakUntilItIsClosed() throws IOException {
    ServerSocketChannel.open().close(); // what the first use loads stays open
    LeakCheck base = LeakCheck.now();
    try (ServerSocketChannel open = ServerSocketChannel.open()) {
      assertTrue(open.isOpen());
      var leak = assertThrows(AssertionError.class, () -> base.assertBackToBase(1000));
      assertTrue(
          String.valueOf(leak.getMessage()).contains("openFiles=" + base.openFiles()),
          leak::getMessage);
    }
    base.assertBackToBase(1000);
  }

  @Test
  void theManualClockMovesByHandAndAcrossTheOverflow() {
    ManualClock clock = new ManualClock();
    long startNs = clock.nanoTime();
    assertEquals(startNs, clock.nanoTime());
    clock.advance(Duration.ofSeconds(2));
    assertTrue(clock.nanoTime() < startNs, "values overflow, differences do not");
    assertEquals(2_000_000_000L, clock.nanoTime() - startNs);
    assertThrows(IllegalArgumentException.class, () -> clock.advance(Duration.ofNanos(-1)));
  }
}
