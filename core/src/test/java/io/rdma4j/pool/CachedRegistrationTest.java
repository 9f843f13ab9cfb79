package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.rdma4j.provider.MemoryAccess;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Whoever comes last ends a registration, once, and nobody gets it afterwards. */
@Timeout(60)
class CachedRegistrationTest {
  private static final int ROUNDS = 20_000;

  private final RegistrationDevice device = new RegistrationDevice();
  private final KnownRegistrations known = new KnownRegistrations(device.name());

  private CachedRegistration registration(int users) {
    var made =
        new CachedRegistration(
            known,
            Arena.global().scope(),
            new MemoryRange(4096, 8192),
            MemoryAccess.LOCAL_READ,
            device.register(4096, 4096, MemoryAccess.LOCAL_READ),
            users);
    known.add(made);
    return made;
  }

  @Test
  void theLastOneEndsIt() {
    CachedRegistration used = registration(2);
    assertFalse(used.evict(), "in use");
    assertFalse(used.retire(), "in use");
    assertFalse(used.retain(), "retired");
    used.release();
    assertEquals(1, device.live());
    used.release();
    assertEquals(0, device.live());
    assertFalse(used.retire(), "ended before");
    assertFalse(used.retain());
    assertEquals(1, known.deregistrations());
  }

  @Test
  void oneOfSeveralAtOnceEndsIt() throws Exception {
    CachedRegistration[] present = new CachedRegistration[1];
    List<Runnable> parts = new ArrayList<>();
    parts.add(() -> present[0].release());
    parts.add(
        () -> {
          if (present[0].retire()) {
            known.end(present[0]);
          }
        });
    for (int late = 0; late < 2; late++) {
      parts.add(
          () -> {
            if (present[0].retain()) {
              present[0].release();
            }
          });
    }
    var round =
        new CyclicBarrier(
            parts.size(),
            () -> {
              if (present[0] != null) {
                assertEquals(0, device.live(), () -> "nobody ended " + present[0]);
              }
              present[0] = registration(1);
            });
    try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<?>> runs = new ArrayList<>();
      for (Runnable part : parts) {
        runs.add(
            threads.submit(
                () -> {
                  for (int i = 0; i < ROUNDS; i++) {
                    round.await();
                    part.run();
                  }
                  return null;
                }));
      }
      for (Future<?> run : runs) {
        run.get();
      }
    }
    assertEquals(0, device.live());
    assertEquals(ROUNDS, known.deregistrations());
    assertEquals(ROUNDS, known.registrations());
  }
}
