package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.os.Mapping;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What settings must be to each other. */
class PoolChecksTest {
  @Test
  void blockSizeMakesFourClasses() {
    assertArrayEquals(
        new int[] {16384, 32768, 65536, 131072},
        PoolConfig.builder().blockSize(16384).build().blockSizes());
    assertEquals(20480, PoolConfig.builder().blockSizes(20480, 40960).build().blockSize());
    assertRefused(
        PoolConfig.builder().blockSize(1 << 20),
        "rdma4j.pool.blockSize is 1m (from the builder)",
        "8m",
        "rdma4j.pool.slabBytes=2m (the default)");
  }

  @Test
  void bothWaysToGiveClassesMustSayTheSame() {
    PoolConfig same =
        PoolConfig.builder().blockSize(4096).blockSizes(4096, 8192, 16384, 32768).build();
    assertEquals(PoolConfig.builder().blockSize(4096).build(), same);
    assertRefused(
        PoolConfig.builder().blockSize(4096).blockSizes(4096, 8192),
        "rdma4j.pool.blockSize is 4k (from the builder)",
        "rdma4j.pool.blockSizes=4k,8k (from the builder)");
    Properties properties = new Properties();
    properties.setProperty(PoolConfig.BLOCK_SIZE, "4k");
    String message =
        complaint(
            () ->
                PoolConfig.fromEnvironment(
                    properties, Map.of("RDMA4J_POOL_BLOCK_SIZES", "8k,16k,32k,64k")));
    assertContains(message, "rdma4j.pool.blockSize is 4k (from a property)");
    assertContains(message, "(from environment variable RDMA4J_POOL_BLOCK_SIZES)");
  }

  @Test
  void theLargestClassFitsASlab() {
    PoolConfig.builder().blockSizes(64, 2 << 20).build();
    assertRefused(
        PoolConfig.builder().blockSizes(64, (2 << 20) + 64),
        "rdma4j.pool.blockSizes is 64,2097216 (from the builder)",
        "rdma4j.pool.slabBytes=2m");
  }

  @Test
  void slabsAndSegmentsAreWholePages() {
    int page = (int) Mapping.pageSizeBytes();
    PoolConfig.builder().blockSizes(64).slabBytes(page).largeSegmentBytes(page).build();
    assertRefused(
        PoolConfig.builder().blockSizes(64).slabBytes(page + 64), "rdma4j.pool.slabBytes is ");
    assertRefused(
        PoolConfig.builder().largeSegmentBytes(page / 2), "rdma4j.pool.largeSegmentBytes is ");
    PoolConfig.Builder explicit = PoolConfig.builder().hugePages(HugePages.EXPLICIT);
    explicit.slabBytes(4 << 20).largeSegmentBytes(2 << 20).build();
    assertRefused(
        explicit.slabBytes(1 << 20),
        "rdma4j.pool.slabBytes is 1m (from the builder); valid: multiples of 2m",
        "rdma4j.pool.hugePages=EXPLICIT (from the builder)");
    assertRefused(
        explicit.slabBytes(2 << 20).largeSegmentBytes(3 << 20),
        "rdma4j.pool.largeSegmentBytes is 3m");
  }

  @Test
  void theBudgetHoldsASlabAndLimitsTheBlocks() {
    PoolConfig.builder().maxBytes(2 << 20).build();
    assertRefused(
        PoolConfig.builder().maxBytes((2 << 20) - 1),
        "rdma4j.pool.maxBytes is 2097151 (from the builder)",
        "rdma4j.pool.slabBytes=2m (the default)");
    PoolConfig.builder().blockSizes(64).maxBytes((64L << 29) - 1).build();
    assertRefused(
        PoolConfig.builder().blockSizes(64).maxBytes(64L << 29),
        "rdma4j.pool.maxBytes is 32g",
        "536870912 blocks",
        "rdma4j.pool.blockSizes=64");
  }

  @Test
  void initialAndLeastBytesFitTheWholeSlabsOfTheBudget() {
    PoolConfig.Builder config = PoolConfig.builder().maxBytes(5 << 20);
    config.initialBytes(4 << 20).minBytes(4 << 20).build();
    assertRefused(
        config.minBytes((4 << 20) + 1),
        "rdma4j.pool.minBytes is 4194305 (from the builder)",
        "0 to 4m",
        "rdma4j.pool.maxBytes=5m (from the builder)");
    assertRefused(config.minBytes(0).initialBytes((4 << 20) + 1), "rdma4j.pool.initialBytes is ");
  }

  /** The least is what trimming leaves alone; it need not be there at the start, nor stay so. */
  @Test
  void leastBytesFollowInitialBytesUnlessSet() {
    assertEquals(4 << 20, PoolConfig.builder().initialBytes(4 << 20).build().minBytes());
    assertEquals(0, PoolConfig.builder().initialBytes(4 << 20).minBytes(0).build().minBytes());
    PoolConfig later = PoolConfig.builder().minBytes(8 << 20).build();
    assertEquals(0, later.initialBytes());
    assertEquals(8 << 20, later.minBytes());
  }

  @Test
  void receiveBlocksAreOfAClassAndFitTheBudget() {
    assertEquals(4096, PoolConfig.builder().blockSize(4096).build().receiveBlockSize());
    assertRefused(
        PoolConfig.builder().receiveBlockSize(4096),
        "rdma4j.pool.receiveBlockSize is 4k (from the builder)",
        "rdma4j.pool.blockSizes=8k,16k,32k,64k (the default)");
    // 20k in slabs of 2m: 102 in each, two slabs in 5m.
    PoolConfig.Builder config =
        PoolConfig.builder().blockSizes(20480).receiveBlockSize(20480).maxBytes(5 << 20);
    config.receiveReserveBlocks(204).build();
    assertRefused(
        config.receiveReserveBlocks(205),
        "rdma4j.pool.receiveReserveBlocks is 205 (from the builder)",
        "0 to 204",
        "rdma4j.pool.receiveBlockSize=20k (from the builder)");
  }

  @Test
  void aDefaultThatDoesNotGoWithTheRestIsNamedAsOne() {
    assertRefused(
        PoolConfig.builder().slabBytes(32768).maxBytes(1 << 20),
        "rdma4j.pool.blockSize is 8k (the default)",
        "rdma4j.pool.slabBytes=32k (from the builder)");
  }

  private static void assertRefused(PoolConfig.Builder config, String... parts) {
    String message = complaint(config::build);
    for (String part : parts) {
      assertContains(message, part);
    }
  }

  private static void assertContains(String message, String part) {
    assertTrue(message.contains(part), message);
  }

  private static String complaint(Executable call) {
    return String.valueOf(assertThrows(IllegalArgumentException.class, call).getMessage());
  }
}
