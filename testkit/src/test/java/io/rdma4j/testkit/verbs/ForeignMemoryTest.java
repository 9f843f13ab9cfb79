package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.ForeignMemory;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Memory of the JVM stays alive for as long as a device may touch it, and no longer. */
@Timeout(120)
final class ForeignMemoryTest {
  private static final int LOCAL_PROTECTION_ERROR = 4;

  private byte[] garbage = new byte[0];

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aBufferIsKeptUntilItIsDeregisteredEvenWithoutItsHandle(boolean slice) {
    try (var pair = new RawPair()) {
      Registered registered = register(pair, slice);
      for (int round = 0; round < 5; round++) {
        collect();
      }
      assertNotNull(registered.buffer.get(), "collected while its address was registered");
      receiveInto(pair, registered.region);
      registered.region.close();
      assertTrue(registered.region.isDeregistered());
      for (int round = 0; round < 50 && registered.buffer.get() != null; round++) {
        collect();
      }
      assertEquals(null, registered.buffer.get(), "kept after its registration had ended");
    }
  }

  private record Registered(WeakReference<ByteBuffer> buffer, MemoryRegion region) {}

  /** Drops the buffer and the handle; the region is what a list of work in flight would name. */
  private static Registered register(RawPair pair, boolean slice) {
    ByteBuffer buffer = ByteBuffer.allocateDirect(8192);
    ByteBuffer used = slice ? buffer.slice(4096, 64) : buffer;
    MemoryRegion region = ForeignMemory.register(pair.domain, used, Access.LOCAL_WRITE).region();
    assertEquals(slice ? 64 : 8192, region.lengthBytes());
    return new Registered(new WeakReference<>(buffer), region);
  }

  private void collect() {
    garbage = new byte[50_000_000];
    garbage[1] = 1;
    System.gc();
  }

  private static void receiveInto(RawPair pair, MemoryRegion region) {
    try (ReceiveList receives = new ReceiveList(1, 1);
        SendList sends = new SendList(1, 1)) {
      receives.add(1).scatter(region.address(), 64, region.lkey());
      sends.add(2, SendList.OP_SEND, 0).gather(region.address(), 32, region.lkey());
      assertEquals(1, pair.b.postReceive(receives));
      assertEquals(1, pair.a.postSend(sends));
      assertEquals(1, pair.completionsB.poll(pair.batch));
      assertEquals(Completions.SUCCESS, pair.batch.status(0));
    }
  }

  @Test
  void refusesWhatADeviceCanNotUse() {
    try (var pair = new RawPair();
        Arena shared = Arena.ofShared();
        Arena other = Arena.ofShared()) {
      ByteBuffer readOnly = ByteBuffer.allocateDirect(64).asReadOnlyBuffer();
      MemorySegment segment = shared.allocate(64);
      assertRefused("heap", () -> ForeignMemory.register(pair.domain, ByteBuffer.allocate(64), 0));
      assertRefused(
          "native",
          () -> ForeignMemory.register(pair.domain, MemorySegment.ofArray(new byte[8]), 0));
      for (int access : new int[] {Access.LOCAL_WRITE, 3, 9}) {
        assertRefused("read-only", () -> ForeignMemory.register(pair.domain, readOnly, access));
        assertRefused(
            "read-only",
            () -> ForeignMemory.register(pair.domain, segment.asReadOnly(), shared, access));
      }
      assertRefused(
          "can be closed", () -> ForeignMemory.register(pair.domain, segment.asByteBuffer(), 0));
      assertRefused("can be closed", () -> ForeignMemory.register(pair.domain, segment, 0));
      assertRefused(
          "not allocated from", () -> ForeignMemory.register(pair.domain, segment, other, 0));
      assertEquals(0, pair.verbs.ledger().registeredLengths().size());
      ForeignMemory.register(pair.domain, readOnly, Access.REMOTE_READ).close();
      ForeignMemory.register(pair.domain, Arena.ofAuto().allocate(64), 0).close();
    }
  }

  private static void assertRefused(String word, Runnable registration) {
    var refused = assertThrows(IllegalArgumentException.class, registration::run);
    assertTrue(String.valueOf(refused.getMessage()).contains(word), refused::getMessage);
  }

  @Test
  void closingTheArenaEndsTheRegistrationBeforeTheMemoryIsFreed() {
    try (var pair = new RawPair();
        ReceiveList receives = new ReceiveList(1, 1);
        SendList sends = new SendList(1, 1)) {
      MemoryRegion region;
      try (Arena arena = Arena.ofShared()) {
        MemorySegment segment = arena.allocate(4096, 4096);
        ForeignMemory memory =
            ForeignMemory.register(pair.domain, segment, arena, Access.LOCAL_WRITE);
        region = memory.region();
        assertTrue(region.retain());
        receives.add(1).scatter(segment.address(), 4096, region.lkey());
        assertEquals(1, pair.b.postReceive(receives));
        // Runs before the registration's own clean-up: at that time the region must still live.
        CleanUp.atClose(arena, segment, () -> assertFalse(region.isDeregistered()));
      }
      assertTrue(region.isDeregistered(), "although a receive is posted");
      assertEquals(1, region.usersInFlight());
      sends.add(2, SendList.OP_SEND, SendList.SIGNALED);
      assertEquals(1, pair.a.postSend(sends));
      assertEquals(1, pair.completionsB.poll(pair.batch));
      assertEquals(LOCAL_PROTECTION_ERROR, pair.batch.status(0), "the device refuses the memory");
      region.release();
      assertEquals(1, pair.verbs.ledger().deregisteredAddresses().size());
    }
  }

  @Test
  void theRegistrationIsGoneWhenCleanUpsRegisteredBeforeItRun() {
    try (var pair = new RawPair()) {
      MemoryRegion[] region = new MemoryRegion[1];
      boolean[] goneFirst = new boolean[1];
      try (Arena arena = Arena.ofConfined()) {
        MemorySegment segment = arena.allocate(64);
        // In the place of the arena's own freeing, which was registered before the registration.
        CleanUp.atClose(arena, segment, () -> goneFirst[0] = region[0].isDeregistered());
        region[0] = ForeignMemory.register(pair.domain, segment, arena, 0).region();
      }
      assertTrue(goneFirst[0]);
    }
  }

  @Test
  void anArenaThatOutlivesTheRegistrationDoesNotEndItTwice() {
    try (var pair = new RawPair()) {
      try (Arena arena = Arena.ofShared()) {
        ForeignMemory.register(pair.domain, arena.allocate(64), arena, 0).close();
      }
      assertEquals(1, pair.verbs.ledger().deregisteredAddresses().size());
    }
  }

  @Test
  void aClosedArenaIsRefused() {
    try (var pair = new RawPair()) {
      Arena closed;
      MemorySegment segment;
      try (Arena arena = Arena.ofShared()) {
        closed = arena;
        segment = arena.allocate(64);
      }
      assertThrows(
          IllegalStateException.class,
          () -> ForeignMemory.register(pair.domain, segment, closed, 0));
      assertEquals(0, pair.verbs.ledger().registeredLengths().size());
    }
  }

  /** Clean-up actions of the test itself. */
  private static final class CleanUp {
    @SuppressWarnings("restricted")
    static void atClose(Arena arena, MemorySegment segment, Runnable action) {
      segment.reinterpret(arena, ignored -> action.run());
    }
  }
}
