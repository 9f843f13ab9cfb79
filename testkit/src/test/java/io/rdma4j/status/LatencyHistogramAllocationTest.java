package io.rdma4j.status;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.testkit.AllocationMeter;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class LatencyHistogramAllocationTest {
  @Test
  void recordingAllocatesNothing() {
    LatencyHistogram histogram = new LatencyHistogram();
    Random random = new Random(1);
    double bytes =
        AllocationMeter.bytesPerOperation(
            20_000, 10_000, () -> histogram.record(random.nextLong(1L << random.nextInt(1, 44))));
    assertTrue(bytes < AllocationMeter.NONE, () -> bytes + " bytes per record");
    assertTrue(histogram.snapshot().count() >= 70_000);
  }
}
