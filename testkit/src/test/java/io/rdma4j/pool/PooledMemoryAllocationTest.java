package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.testkit.AllocationMeter;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What looking up keys, large buffers and arenas leave to the garbage collector. */
@Timeout(60)
final class PooledMemoryAllocationTest {
  private static final int SEGMENT = 64 << 10;
  private static final int WARM_UP = 30_000;
  private static final int OPERATIONS = 10_000;

  private final RegisteredBufferPool pool =
      RegisteredBufferPool.create(
          PoolConfig.builder()
              .hugePages(HugePages.NONE)
              .largeSegmentBytes(SEGMENT)
              .maxBytes(64 << 20)
              .backgroundThread(false)
              .build(),
          List.of(new PlainRegistrar()));
  private long sum;

  @AfterEach
  void close() {
    pool.close();
    assertTrue(sum != 1);
  }

  private static double measured(Runnable operation) {
    return AllocationMeter.bytesPerOperation(WARM_UP, OPERATIONS, operation);
  }

  private static void assertNone(Runnable operation) {
    double bytes = measured(operation);
    assertTrue(bytes < AllocationMeter.NONE, () -> bytes + " bytes per operation");
  }

  @Test
  void keysOfASegment() {
    try (PooledArena arena = pool.openArena()) {
      MemorySegment segment = arena.allocate(100);
      assertNone(
          () -> {
            RegisteredRange range = pool.find(segment);
            sum += range == null ? 0 : range.lkey(0);
          });
    }
  }

  @Test
  void keysOfAByteBuffer() {
    try (RegisteredBuffer block = pool.allocate(100)) {
      ByteBuffer buffer = block.asByteBuffer();
      assertNotNull(pool.find(buffer));
      // The segment around the buffer is an object, unless the compiler does away with it.
      double bytes = measured(() -> sum += pool.find(buffer) == null ? 0 : 1);
      assertTrue(bytes <= 64, () -> bytes + " bytes per operation");
    }
  }

  @Test
  void keysAndPartsOfALargeBuffer() {
    try (LargeBuffer buffer = pool.allocateLarge(4 * SEGMENT)) {
      assertTrue(buffer.awaitReady(0, 4 * SEGMENT, Long.MAX_VALUE));
      LargeBuffer.PartConsumer consumer = (address, length, lkey, rkey) -> sum += length + lkey;
      assertNone(
          () -> {
            sum += buffer.lkey(3 * SEGMENT, 0);
            sum += buffer.isReady(0, 4 * SEGMENT) ? 1 : 0;
            buffer.forEachPart(100, 3 * SEGMENT, 0, consumer);
          });
    }
  }

  /** The lease, and the segment of the length that was asked for. */
  @Test
  void aLargeBufferThatIsAtHand() {
    LargeBuffer first = pool.allocateLarge(4 * SEGMENT);
    assertTrue(first.awaitReady(0, 4 * SEGMENT, Long.MAX_VALUE));
    first.release();
    double bytes = measured(() -> pool.allocateLarge(4 * SEGMENT).release());
    assertTrue(bytes < 400, () -> bytes + " bytes per operation");
  }

  /** An arena is objects anyway; blocks and their views are a few of them, not many. */
  @Test
  void anArenaWithThreeSegments() {
    double bytes =
        measured(
            () -> {
              try (PooledArena arena = pool.openArena()) {
                sum += arena.allocate(8).address();
                sum += arena.allocate(1000).address();
                sum += arena.allocate(4000).address();
              }
            });
    assertTrue(bytes < 800, () -> bytes + " bytes per operation");
  }
}
