package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Arenas and byte buffers over pooled memory, and the way from a segment to its keys. */
@Timeout(60)
class PooledArenaTest {
  private static final int SEGMENT = 64 << 10;

  private final LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");

  private RegisteredBufferPool pool() {
    return pool(16 << 20);
  }

  private RegisteredBufferPool pool(long maxBytes) {
    PoolConfig config =
        PoolConfig.builder()
            .blockSizes(1024, 4096, 16384)
            .slabBytes(64 << 10)
            .hugePages(HugePages.NONE)
            .lowWatermark(0)
            .backgroundThread(false)
            .largeSegmentBytes(SEGMENT)
            .maxBytes(maxBytes)
            .build();
    return RegisteredBufferPool.create(config, List.of(device));
  }

  private static long usedBytes(RegisteredBufferPool pool) {
    return pool.statistics().usedBytes() + pool.largeStatistics().usedBytes();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void segmentsAreApartAlignedZeroedAndRegistered(boolean shared) {
    Random random = new Random(7);
    try (RegisteredBufferPool pool = pool()) {
      for (int round = 0; round < 4; round++) {
        try (PooledArena arena = shared ? pool.openSharedArena() : pool.openArena()) {
          List<MemorySegment> all = new ArrayList<>();
          for (int i = 0; i < 300; i++) {
            long size = i % 50 == 49 ? 20_000 + random.nextInt(30_000) : random.nextInt(3000);
            long alignment = 1L << random.nextInt(9);
            MemorySegment segment = arena.allocate(size, alignment);
            assertEquals(size, segment.byteSize());
            assertEquals(0, segment.address() % alignment);
            assertSame(arena.scope(), segment.scope());
            assertEquals(-1, segment.mismatch(MemorySegment.ofArray(new byte[(int) size])));
            assertNotNull(pool.find(segment));
            segment.fill((byte) -1);
            all.add(segment);
          }
          for (int i = 0; i < all.size(); i++) {
            for (int k = 0; k < i; k++) {
              assertTrue(all.get(i).asOverlappingSlice(all.get(k)).isEmpty());
            }
          }
        }
        assertEquals(0, usedBytes(pool));
      }
    }
    assertEquals(0, device.live());
  }

  @Test
  void worksWithCodeThatKnowsNothingOfIt() {
    try (RegisteredBufferPool pool = pool();
        PooledArena arena = pool.openArena()) {
      MemorySegment text = greet(arena);
      assertEquals("hello", text.getString(0));
      MemorySegment number = arena.uninitialized().allocateFrom(ValueLayout.JAVA_LONG, 1, 2, 3);
      assertEquals(3, number.getAtIndex(ValueLayout.JAVA_LONG, 2));
      assertNotNull(pool.find(text));
      assertNotNull(pool.find(number.asSlice(8, 8)));
    }
  }

  private static MemorySegment greet(SegmentAllocator allocator) {
    return allocator.allocateFrom("hello", StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void nothingReachesTheMemoryAfterTheClose(boolean shared) {
    try (RegisteredBufferPool pool = pool()) {
      PooledArena arena = shared ? pool.openSharedArena() : pool.openArena();
      MemorySegment segment = arena.allocate(100);
      MemorySegment large = arena.allocate(3 * SEGMENT);
      ByteBuffer buffer = arena.allocateDirect(64);
      ByteBuffer view = segment.asByteBuffer();
      assertTrue(usedBytes(pool) >= 3 * SEGMENT);
      arena.close();
      assertEquals(0, usedBytes(pool));
      assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
      assertThrows(IllegalStateException.class, () -> segment.asSlice(50).fill((byte) 1));
      assertThrows(IllegalStateException.class, () -> large.get(ValueLayout.JAVA_BYTE, 0));
      assertThrows(IllegalStateException.class, () -> buffer.put(0, (byte) 1));
      assertThrows(IllegalStateException.class, () -> view.get(0));
      assertThrows(IllegalStateException.class, () -> pool.find(segment));
      assertThrows(IllegalStateException.class, () -> arena.allocate(1));
      assertThrows(IllegalStateException.class, arena::close);
      assertFalse(arena.scope().isAlive());
      assertEquals(0, pool.statistics().refusedReleases());
    }
  }

  @Test
  void aConfinedArenaIsForItsThread() throws Exception {
    try (RegisteredBufferPool pool = pool();
        PooledArena arena = pool.openArena();
        ExecutorService other = Executors.newSingleThreadExecutor()) {
      MemorySegment segment = arena.allocate(8);
      for (Runnable use :
          List.<Runnable>of(
              () -> arena.allocate(8),
              arena::close,
              () -> segment.set(ValueLayout.JAVA_BYTE, 0, (byte) 1))) {
        ExecutionException e =
            assertThrows(ExecutionException.class, () -> other.submit(use).get());
        assertInstanceOf(WrongThreadException.class, e.getCause());
      }
      assertTrue(arena.scope().isAlive());
    }
  }

  @Test
  void aSharedArenaIsForAllThreads() throws Exception {
    try (RegisteredBufferPool pool = pool();
        ExecutorService others = Executors.newFixedThreadPool(3)) {
      PooledArena arena = pool.openSharedArena();
      List<Future<List<MemorySegment>>> parts = new ArrayList<>();
      for (byte i = 1; i <= 3; i++) {
        byte value = i;
        parts.add(others.submit(() -> fill(arena, value)));
      }
      for (int i = 0; i < 3; i++) {
        for (MemorySegment segment : parts.get(i).get()) {
          assertEquals(i + 1, segment.get(ValueLayout.JAVA_BYTE, 0));
          assertEquals(i + 1, segment.get(ValueLayout.JAVA_BYTE, segment.byteSize() - 1));
        }
      }
      others.submit(arena::close).get();
      assertEquals(0, usedBytes(pool));
    }
  }

  private static List<MemorySegment> fill(PooledArena arena, byte value) {
    List<MemorySegment> all = new ArrayList<>();
    for (int i = 1; i < 500; i++) {
      all.add(arena.allocate(i).fill(value));
    }
    return all;
  }

  @Test
  void refusesWhatNoArenaTakes() {
    try (RegisteredBufferPool pool = pool();
        PooledArena arena = pool.openArena()) {
      assertThrows(IllegalArgumentException.class, () -> arena.allocate(-1));
      assertThrows(IllegalArgumentException.class, () -> arena.allocate(1, 0));
      assertThrows(IllegalArgumentException.class, () -> arena.allocate(1, 3));
      assertThrows(IllegalArgumentException.class, () -> arena.allocate(Long.MAX_VALUE));
      assertThrows(IllegalArgumentException.class, () -> arena.allocate(Long.MAX_VALUE, 1L << 62));
      assertEquals(0, usedBytes(pool));
      MemorySegment empty = arena.allocate(0);
      assertSame(arena.scope(), empty.scope());
      assertFalse(empty.address() == arena.allocate(0).address());
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {128, 4096, 16384, 2 << 20})
  void alignsWhatTheKernelDoesNot(long alignment) {
    try (RegisteredBufferPool pool = pool();
        PooledArena arena = pool.openArena()) {
      for (int i = 0; i < 3; i++) {
        MemorySegment segment = arena.allocate(100 + i, alignment);
        assertEquals(0, segment.address() % alignment);
        assertNotNull(pool.find(segment));
      }
    }
  }

  @Test
  void staysAsItWasWhenThePoolIsExhausted() {
    try (RegisteredBufferPool pool = pool(64 << 10)) {
      try (PooledArena arena = pool.openArena()) {
        MemorySegment first = arena.allocate(1000).fill((byte) 5);
        assertThrows(
            PoolExhaustedException.class,
            () -> {
              while (true) {
                arena.allocate(16384);
              }
            });
        assertThrows(PoolExhaustedException.class, () -> arena.allocate(60_000));
        assertEquals(5, first.get(ValueLayout.JAVA_BYTE, 999));
        assertNotNull(arena.allocate(20));
      }
      assertEquals(0, usedBytes(pool));
    }
  }

  @Test
  void aRefusedRegistrationLeavesTheArenaAsItWas() {
    try (RegisteredBufferPool pool = pool();
        PooledArena arena = pool.openArena()) {
      arena.allocate(1);
      long used = usedBytes(pool);
      device.failing(true);
      assertThrows(PoolGrowthException.class, () -> arena.allocate(3 * SEGMENT));
      device.failing(false);
      assertEquals(used, usedBytes(pool));
      assertNotNull(pool.find(arena.allocate(SEGMENT)));
    }
  }

  @Test
  void aPoolClosedFirstReportsTheArena() {
    RegisteredBufferPool pool = pool();
    PooledArena arena = pool.openArena();
    MemorySegment segment = arena.allocate(10).fill((byte) 4);
    assertThrows(IllegalStateException.class, pool::close);
    assertEquals(4, segment.get(ValueLayout.JAVA_BYTE, 9));
    assertNull(pool.find(segment));
    arena.close();
    assertEquals(0, pool.mappedSlabs());
  }

  @Test
  void findsTheKeysOfAnySegment() {
    try (RegisteredBufferPool pool = pool();
        RegisteredBuffer block = pool.allocate(1024);
        LargeBuffer large = pool.allocateLarge(3 * SEGMENT);
        Arena foreign = Arena.ofConfined()) {
      assertTrue(large.awaitReady(0, 3 * SEGMENT, Long.MAX_VALUE));
      RegisteredRange range = Objects.requireNonNull(pool.find(block.segment()));
      assertEquals(block.lkey(0), range.lkey(0));
      assertEquals(block.rkey(0), range.rkey(0));
      assertEquals(64 << 10, range.lengthBytes());
      for (long offset : new long[] {0, SEGMENT - 1, SEGMENT, 3 * SEGMENT - 1}) {
        MemorySegment one = large.segment().asSlice(offset, 1);
        assertEquals(large.lkey(offset, 0), Objects.requireNonNull(pool.find(one)).lkey(0));
      }
      MemorySegment across = large.segment().asSlice(SEGMENT - 1, 2);
      assertNull(pool.find(across));
      RegisteredRange first = Objects.requireNonNull(pool.findAddress(across.address()));
      assertEquals(across.address() + 1, first.address() + first.lengthBytes());
      assertNull(pool.find(MemorySegment.ofArray(new byte[1])));
      assertNull(pool.find(foreign.allocate(1)));
      assertNull(pool.find(MemorySegment.ofAddress(1)));
      assertNull(pool.findAddress(-1));
      assertNull(pool.find(ByteBuffer.allocate(1)));
      assertNull(pool.find(ByteBuffer.allocateDirect(1)));
      ByteBuffer buffer = block.asByteBuffer();
      assertEquals(block.lkey(0), Objects.requireNonNull(pool.find(buffer)).lkey(0));
    }
  }

  @Test
  void findsNothingInMemoryThatWasGivenBack() {
    try (RegisteredBufferPool pool = pool(256 << 10)) {
      LargeBuffer large = pool.allocateLarge(192 << 10);
      large.awaitReady(0, large.lengthBytes(), Long.MAX_VALUE);
      long address = large.address();
      assertNotNull(pool.findAddress(address));
      large.release();
      pool.allocateLarge(256 << 10).close();
      RegisteredRange range = pool.findAddress(address + (192 << 10) - 1);
      assertTrue(range == null || range.lengthBytes() <= SEGMENT);
      assertEquals(1, pool.largeStatistics().objects());
    }
  }

  @Test
  void byteBuffersAreLikeNewOnes() {
    try (RegisteredBufferPool pool = pool();
        RegisteredBuffer block = pool.allocate(100)) {
      block.segment().set(ValueLayout.JAVA_BYTE, 99, (byte) 42);
      ByteBuffer view = block.asByteBuffer();
      assertTrue(view.isDirect());
      assertEquals(ByteOrder.BIG_ENDIAN, view.order());
      assertEquals(0, view.position());
      assertEquals(100, view.limit());
      assertEquals(1024, view.capacity());
      assertEquals(42, view.get(99));
      try (PooledArena arena = pool.openArena()) {
        ByteBuffer own = arena.allocateDirect(100);
        assertTrue(own.isDirect());
        assertEquals(100, own.capacity());
        assertEquals(0, own.position());
        assertEquals(ByteOrder.BIG_ENDIAN, own.order());
        own.putInt(0x01020304).flip();
        assertEquals(1, MemorySegment.ofBuffer(own).get(ValueLayout.JAVA_BYTE, 0));
        assertNotNull(pool.find(own));
      }
    }
  }
}
