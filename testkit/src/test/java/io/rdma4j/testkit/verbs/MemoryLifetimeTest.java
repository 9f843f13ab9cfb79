package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A region stays registered while work that names it is in flight, and not a moment longer. */
@Timeout(60)
final class MemoryLifetimeTest {
  private static final int LOCAL_QP_ERROR = 2;

  @ParameterizedTest
  @ValueSource(ints = {0, LOCAL_QP_ERROR})
  void closingWithThreeWritesInFlightDeregistersAfterTheThird(int secondStatus) throws Exception {
    try (var pair = new RawPair();
        Arena arena = Arena.ofShared();
        SendList list = new SendList(3, 1)) {
      MemorySegment target = arena.allocate(4096, 4096);
      MemorySegment source = arena.allocate(4096, 4096);
      MemoryRegion remote =
          pair.domain.registerMemory(
              target.address(), 4096, Access.LOCAL_WRITE | Access.REMOTE_WRITE);
      MemoryRegion region = pair.domain.registerMemory(source.address(), 4096, Access.LOCAL_READ);
      pair.completionsA.hold();
      for (int i = 0; i < 3; i++) {
        assertTrue(region.retain());
        list.add(i, SendList.OP_RDMA_WRITE, SendList.SIGNALED)
            .gather(source.address(), 64, region.lkey())
            .remote(target.address() + 64L * i, remote.rkey());
      }
      assertEquals(3, pair.a.postSend(list));
      CompletableFuture.runAsync(region::close).get(10, TimeUnit.SECONDS);
      assertFalse(region.retain(), "no new work after the close");
      for (int i = 0; i < 3; i++) {
        assertEquals(3 - i, region.usersInFlight());
        assertFalse(region.isDeregistered());
        assertEquals(List.of(), pair.verbs.ledger().deregisteredAddresses());
        pair.completionsA.release(0, i == 1 ? secondStatus : 0, 0);
        assertEquals(1, pair.completionsA.poll(pair.batch));
        assertEquals(i, pair.batch.wrId(0));
        region.release();
      }
      assertTrue(region.isDeregistered());
      assertEquals(List.of(source.address()), pair.verbs.ledger().deregisteredAddresses());
      remote.close();
    }
  }

  @Test
  void deregistersOnceWhoeverLetsGoLast() throws Exception {
    for (int round = 0; round < 2000; round++) {
      try (var pair = new RawPair();
          Arena arena = Arena.ofShared()) {
        MemoryRegion region =
            pair.domain.registerMemory(arena.allocate(64).address(), 64, Access.LOCAL_READ);
        assertTrue(region.retain());
        var closing = CompletableFuture.runAsync(region::close);
        region.release();
        closing.get(10, TimeUnit.SECONDS);
        assertTrue(region.isDeregistered());
        assertEquals(1, pair.verbs.ledger().deregisteredAddresses().size());
      }
    }
  }
}
