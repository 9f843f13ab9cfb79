package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.VerbsException;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.ForeignMemory;
import io.rdma4j.verbs.MemoryRegion;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Limits of registration: locked memory in whole pages, and lengths at the edges of int. */
@Timeout(60)
final class RegistrationLimitTest {
  private static final long MIB = 1 << 20;
  private static final long SOMEWHERE = 1L << 40;

  @Test
  void aRegistrationBeyondTheLockedMemoryLimitNamesEveryFigure() {
    try (var link = new ScriptedLink(1000, 16)) {
      link.device.limits().lockedMemoryBytes = 8 * MIB;
      MemoryRegistrar registrar = link.initiator().registrars().getFirst();
      MemoryRegistrar.Registration first = registrar.register(SOMEWHERE, MIB);
      VerbsException refused =
          assertThrows(VerbsException.class, () -> registrar.register(2 * SOMEWHERE, 16 * MIB));
      assertEquals(Errno.ENOMEM, refused.errno());
      for (String figure : List.of("8388608", "16777216", "1048576", "memlock", "CAP_IPC_LOCK")) {
        assertTrue(String.valueOf(refused.getMessage()).contains(figure), refused::getMessage);
      }
      assertEquals(1, link.verbs.ledger().registeredLengths().size(), "no stack of retries");
      first.close();
      assertEquals(0, link.device.pinnedBytes());
    }
  }

  @Test
  void unalignedAreasPayForTwoPagesEach() {
    try (var pair = new RawPair()) {
      pair.scripted.limits().lockedMemoryBytes = 65536;
      List<MemoryRegion> regions = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        regions.add(pair.domain.registerMemory(SOMEWHERE + i * MIB + 16, 4096, Access.LOCAL_WRITE));
      }
      assertEquals(65536, pair.scripted.pinnedBytes());
      VerbsException refused =
          assertThrows(
              VerbsException.class,
              () -> pair.domain.registerMemory(2 * SOMEWHERE, 1, Access.LOCAL_WRITE));
      assertTrue(String.valueOf(refused.getMessage()).contains("65536"), refused::getMessage);
      regions.forEach(MemoryRegion::close);
      assertEquals(0, pair.scripted.pinnedBytes());
    }
  }

  @Test
  void anEndpointsOwnMemoryIsWholePages() throws IOException {
    try (var link = new ScriptedLink(1000, 16);
        var pair = link.connect()) {
      long registered =
          link.verbs.ledger().registeredLengths().stream().mapToLong(Long::longValue).sum();
      assertEquals(registered, link.device.pinnedBytes());
      assertTrue(pair.initiator().description().contains("scripted0"));
    }
  }

  @Test
  void aCompletionQueueThatHitsTheLimitGivesTheSameHint() {
    try (var link = new ScriptedLink(1000, 16)) {
      link.device.limits().lockedMemoryBytes = 8 * MIB;
      link.verbs.faults().refuseNext("ibv_create_cq", Errno.ENOMEM);
      IOException failure = assertThrows(IOException.class, link::connect);
      String reasons = failure.getMessage() + failure.getSuppressed()[0].getMessage();
      assertTrue(reasons.contains("8388608") && reasons.contains("memlock"), reasons);
    }
  }

  @ParameterizedTest
  @ValueSource(
      longs = {1, 2147483639L, 2147483647L, 2147483648L, 4294967295L, 4294967296L, 4294971392L})
  void lengthsReachTheDeviceUnchanged(long lengthBytes) {
    try (var pair = new RawPair();
        ForeignMemory memory =
            ForeignMemory.register(pair.domain, segment(lengthBytes), Access.LOCAL_READ)) {
      assertEquals(List.of(lengthBytes), pair.verbs.ledger().registeredLengths());
      assertEquals(lengthBytes, memory.region().lengthBytes());
      assertTrue(memory.toString().contains("+" + lengthBytes + ")"), memory::toString);
      if (lengthBytes <= ForeignMemory.MAX_VIEW_BYTES) {
        assertEquals(lengthBytes, memory.asByteBuffer().remaining());
      } else {
        var refused = assertThrows(UnsupportedOperationException.class, memory::asByteBuffer);
        assertTrue(String.valueOf(refused.getMessage()).contains(Long.toString(lengthBytes)));
      }
      assertTrue(memory.region().retain(), "the region stays usable");
      memory.region().release();
    }
  }

  @Test
  void lengthZeroIsRefusedAtTheCall() {
    try (var pair = new RawPair()) {
      assertThrows(
          IllegalArgumentException.class,
          () -> pair.domain.registerMemory(SOMEWHERE, 0, Access.LOCAL_READ));
      assertThrows(
          IllegalArgumentException.class,
          () -> ForeignMemory.register(pair.domain, segment(0), Access.LOCAL_READ));
      assertEquals(List.of(), pair.verbs.ledger().registeredLengths());
    }
  }

  /** Address space that no one touches. */
  @SuppressWarnings("restricted")
  private static MemorySegment segment(long lengthBytes) {
    return MemorySegment.ofAddress(SOMEWHERE).reinterpret(lengthBytes, Arena.global(), null);
  }
}
