package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.provider.MemoryAccess;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

/** The index against a list that is searched from end to end; repeat a run with -Dseed=... */
class RegistrationIndexTest {
  private static final int SPACE = 200;

  private final RegistrationDevice device = new RegistrationDevice();
  private final KnownRegistrations known = new KnownRegistrations(device.name());
  private final Arena arena = Arena.ofAuto();
  private final RegistrationIndex index = new RegistrationIndex(arena.scope());

  private CachedRegistration registration(MemoryRange range, int access) {
    return new CachedRegistration(
        known,
        arena.scope(),
        range,
        access,
        device.register(range.start(), range.lengthBytes(), access),
        0);
  }

  private static MemoryRange randomRange(Random random) {
    int start = 1 + random.nextInt(SPACE);
    return new MemoryRange(start, start + 1 + random.nextInt(1 + random.nextInt(60)));
  }

  @RepeatedTest(20)
  void findsARegistrationExactlyWhenThereIsOne() {
    long seed = Long.getLong("seed", System.nanoTime());
    System.out.println("RegistrationIndexTest seed " + seed);
    Random random = new Random(seed);
    List<CachedRegistration> all = new ArrayList<>();
    for (int step = 0; step < 300; step++) {
      MemoryRange range = randomRange(random);
      int access = random.nextInt(4) * MemoryAccess.LOCAL_WRITE;
      access = MemoryAccess.isValid(access) ? access : MemoryAccess.REMOTE_READ;
      if (random.nextInt(4) == 0) {
        List<CachedRegistration> removed = index.removeIf(r -> r.range().overlaps(range));
        assertEquals(
            all.stream().filter(r -> r.range().overlaps(range)).toList().size(), removed.size());
        all.removeAll(removed);
      } else if (index.find(range.start(), range.lengthBytes(), access) == null) {
        CachedRegistration added = registration(range, access);
        all.removeAll(index.add(added));
        all.add(added);
      }
      checkAgainst(all, random);
    }
  }

  private void checkAgainst(List<CachedRegistration> all, Random random) {
    for (int i = 0; i < 50; i++) {
      MemoryRange wanted = randomRange(random);
      for (int access : new int[] {0, MemoryAccess.LOCAL_WRITE, MemoryAccess.REMOTE_READ}) {
        CachedRegistration found = index.find(wanted.start(), wanted.lengthBytes(), access);
        boolean there =
            all.stream()
                .anyMatch(
                    r -> r.range().contains(wanted) && MemoryAccess.includes(r.access(), access));
        assertEquals(there, found != null, () -> wanted + " in " + all);
        if (found != null) {
          assertTrue(all.contains(found) && found.range().contains(wanted));
          assertTrue(MemoryAccess.includes(found.access(), access));
        }
      }
    }
    int[] count = new int[1];
    index.forEach(registration -> count[0]++);
    assertEquals(all.size(), count[0]);
  }

  @Test
  void mergesOnlyWhatAtLeastDoubles() {
    index.add(registration(new MemoryRange(100, 200), 0));
    assertEquals(new MemoryRange(100, 300), index.merged(new MemoryRange(200, 300), 0));
    assertEquals(new MemoryRange(200, 299), index.merged(new MemoryRange(200, 299), 0), "smaller");
    assertEquals(new MemoryRange(150, 250), index.merged(new MemoryRange(150, 250), 0), "overlaps");
    assertEquals(new MemoryRange(201, 301), index.merged(new MemoryRange(201, 301), 0), "a hole");
    assertEquals(new MemoryRange(200, 300), index.merged(new MemoryRange(200, 300), 1), "rights");
    index.add(registration(new MemoryRange(300, 350), 0));
    index.add(registration(new MemoryRange(350, 600), 0));
    assertEquals(
        new MemoryRange(100, 600),
        index.merged(new MemoryRange(200, 300), 0),
        "each one taken in makes room for the next");
  }

  @Test
  void memoryIsGuardedWhereActionsHaveBeenAdded() {
    try (Arena closable = Arena.ofConfined()) {
      RegistrationIndex guarding = new RegistrationIndex(closable.scope());
      CachedRegistration across = registration(new MemoryRange(150, 250), 0);
      guarding.add(across);
      guarding.guard(new MemoryRange(100, 200));
      guarding.guard(new MemoryRange(300, 400));
      assertTrue(guarding.isGuarded(new MemoryRange(100, 200)));
      assertTrue(guarding.isGuarded(new MemoryRange(399, 400)));
      assertFalse(guarding.isGuarded(new MemoryRange(99, 101)));
      assertFalse(guarding.isGuarded(new MemoryRange(150, 350)));
      assertFalse(across.isGuarded());
      guarding.guard(new MemoryRange(200, 300));
      assertTrue(guarding.isGuarded(new MemoryRange(100, 400)), "joined");
      assertTrue(across.isGuarded());
      guarding.guard(new MemoryRange(50, 500));
      assertTrue(guarding.isGuarded(new MemoryRange(50, 500)));
      guarding.removeIf(registration -> true);
      assertFalse(guarding.isEmpty(), "kept, so that no second action is added");
      assertNull(guarding.find(150, 1, 0));
    }
    assertNotNull(index.toString());
    assertTrue(index.isEmpty());
  }
}
