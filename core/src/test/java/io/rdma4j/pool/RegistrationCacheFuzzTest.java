package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Rdma4jException;
import io.rdma4j.provider.MemoryAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Timeout;

/**
 * Random operations by several threads on the same few addresses, whose mapping is replaced all the
 * time, on a device that refuses now and then. Every key in hand must be known to the device, grant
 * what was asked for, and have been registered for this mapping. A failing run is repeated with
 * {@code -Dseed=...}.
 */
@Timeout(120)
class RegistrationCacheFuzzTest {
  private static final int OPERATIONS = 20_000;
  private static final int THREADS = 4;
  private static final long BASE = 1L << 40;
  private static final int SPACE = 1 << 16;
  private static final int[] ACCESS = {
    MemoryAccess.LOCAL_READ,
    MemoryAccess.LOCAL_WRITE,
    MemoryAccess.REMOTE_READ,
    MemoryAccess.LOCAL_WRITE | MemoryAccess.REMOTE_WRITE
  };

  private final RegistrationDevice device = new RegistrationDevice();
  private final AtomicLong clockNs = new AtomicLong();

  /** The mapping for which a key was first given; another one means that the key was stale. */
  private final Map<Integer, Mapping> mappingOf = new ConcurrentHashMap<>();

  /** The mapping at {@link #BASE}: replaced by some, used by others, closed by whoever is last. */
  private final AtomicReference<Mapping> current = new AtomicReference<>(new Mapping());

  /** An arena with the count of its users, so that nobody closes it while a lease is held. */
  private static final class Mapping {
    final Arena arena = Arena.ofShared();
    final MemorySegment segment = map(arena);
    private int users = 1;

    @SuppressWarnings("restricted")
    private static MemorySegment map(Arena arena) {
      return MemorySegment.ofAddress(BASE).reinterpret(SPACE, arena, null);
    }

    synchronized boolean enter() {
      if (users == 0) {
        return false;
      }
      users++;
      return true;
    }

    void leave() {
      boolean last;
      synchronized (this) {
        last = --users == 0;
      }
      if (last) {
        arena.close();
      }
    }
  }

  @RepeatedTest(6)
  void randomOperationsEndDrained() throws Exception {
    long seed = Long.getLong("seed", System.nanoTime());
    System.out.println("RegistrationCacheFuzzTest seed " + seed);
    Random random = new Random(seed);
    RegistrationCacheConfig config =
        RegistrationCacheConfig.builder()
            .maxEntries(1 + random.nextInt(8))
            .maxBytes(SPACE / 2 + random.nextInt(SPACE))
            .maxIdle(Duration.ofNanos(random.nextInt(10)))
            .build();
    RegistrationCache cache = RegistrationCache.create(config, device);
    try (ExecutorService threads = Executors.newFixedThreadPool(THREADS)) {
      List<Future<?>> runs = new ArrayList<>();
      for (int t = 0; t < THREADS; t++) {
        runs.add(threads.submit(new User(cache, new Random(random.nextLong()))));
      }
      for (Future<?> run : runs) {
        run.get();
      }
    }
    device.refusing(false);
    device.holding(false);
    current.get().leave();
    cache.maintain(0);
    RegistrationCacheStatistics now = cache.statistics();
    RegistrationCacheFixture.assertAddsUp(now);
    assertEquals(0, now.used() + now.retiring() + now.pending(), now::toString);
    assertEquals(device.live(), now.entries(), now::toString);
    assertTrue(now.hits() > 0 && now.misses() > 0 && now.staleDropped() > 0, now::toString);
    cache.close();
    assertEquals(0, device.live());
  }

  private final class User implements Runnable {
    private final RegistrationCache cache;
    private final Random random;

    private record Held(Mapping mapping, RegistrationLease lease, int access) {}

    private final List<Held> held = new ArrayList<>();

    User(RegistrationCache cache, Random random) {
      this.cache = cache;
      this.random = random;
    }

    @Override
    public void run() {
      for (int i = 0; i < OPERATIONS; i++) {
        switch (random.nextInt(256)) {
          case 0 -> remap();
          case 1 -> cache.maintain(clockNs.getAndIncrement());
          case 2 -> cache.invalidate(BASE + random.nextInt(SPACE), 1 + random.nextInt(4096));
          case 3 -> device.refusing(random.nextInt(8) == 0);
          case 4 -> device.holding(random.nextInt(8) == 0);
          case 5 -> assertTrue(cache.statistics().entries() >= 0);
          default -> {
            if (held.size() < 3 && random.nextBoolean()) {
              acquire();
            } else if (!held.isEmpty()) {
              release(held.remove(random.nextInt(held.size())));
            }
          }
        }
      }
      held.forEach(this::release);
    }

    private void remap() {
      Mapping old = current.getAndSet(new Mapping());
      // A registration that can not be taken away shows when the arena is closed.
      device.holding(false);
      try {
        old.leave();
      } catch (Rdma4jException e) {
        assertTrue(String.valueOf(e.getMessage()).contains("EBUSY"));
      }
    }

    private void acquire() {
      Mapping mapping = current.get();
      if (!mapping.enter()) {
        return;
      }
      // Mostly the same few ranges, so that hits meet evictions.
      boolean usual = random.nextInt(8) > 0;
      int access = ACCESS[usual ? 0 : random.nextInt(ACCESS.length)];
      int start = usual ? 8192 * random.nextInt(4) : random.nextInt(SPACE / 2);
      int length = usual ? 4096 : 1 + random.nextInt(1 + random.nextInt(SPACE / 2));
      boolean withArena = MemoryAccess.isRemote(access) || random.nextBoolean();
      RegistrationLease lease = cache.newLease();
      try {
        MemorySegment part = mapping.segment.asSlice(start, length);
        if (withArena) {
          cache.acquire(part, mapping.arena, access, lease);
        } else {
          cache.acquire(part, access, lease);
        }
        Held taken = new Held(mapping, lease, access);
        check(taken);
        held.add(taken);
      } catch (Rdma4jException e) {
        assertTrue(String.valueOf(e.getMessage()).contains("ENOMEM"), e::getMessage);
        leave(mapping);
      }
    }

    private void check(Held taken) {
      RegistrationLease lease = taken.lease;
      assertTrue(
          device.grants(lease.lkey(), lease.address(), lease.lengthBytes(), taken.access),
          () -> lease + " is not what the device knows");
      Mapping first = mappingOf.putIfAbsent(lease.lkey(), taken.mapping);
      assertTrue(first == null || first == taken.mapping, () -> lease + " is of older memory");
    }

    private void release(Held taken) {
      check(taken);
      taken.lease.release();
      leave(taken.mapping);
    }

    private void leave(Mapping mapping) {
      try {
        mapping.leave();
      } catch (Rdma4jException e) {
        assertTrue(String.valueOf(e.getMessage()).contains("EBUSY"), e::getMessage);
      }
    }
  }
}
