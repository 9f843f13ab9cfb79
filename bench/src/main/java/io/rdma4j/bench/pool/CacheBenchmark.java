package io.rdma4j.bench.pool;

import io.rdma4j.pool.RegistrationCache;
import io.rdma4j.pool.RegistrationCacheConfig;
import io.rdma4j.pool.RegistrationLease;
import io.rdma4j.provider.MemoryAccess;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.stream.IntStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Keys for memory that is not the pool's: one thread asks the registration cache for a message of 8
 * KiB in one of {@value #REGISTRATIONS} registrations, in random order, and lets go of it.
 */
public class CacheBenchmark {
  private static final int REGISTRATIONS = 1024;
  private static final int LENGTH_BYTES = 8192;
  private static final int DISTANCE_BYTES = 2 * LENGTH_BYTES;
  private static final int ROUNDS = 16;

  /** Created by JMH. */
  public CacheBenchmark() {}

  /** Registrations with gaps between them, and the order to ask in. */
  @State(Scope.Thread)
  public static class Registered {
    private final Arena arena = Arena.ofShared();
    private final RegistrationCache cache =
        RegistrationCache.create(RegistrationCacheConfig.defaults(), Rivals.REGISTRAR);
    private final RegistrationLease lease = cache.newLease();
    private final MemorySegment[] messages;
    private final int[] order = new Random(1).ints(1 << 12, 0, REGISTRATIONS).toArray();
    private int next;

    /** Created by JMH. */
    public Registered() {
      MemorySegment memory = arena.allocate((long) REGISTRATIONS * DISTANCE_BYTES, 4096);
      messages =
          IntStream.range(0, REGISTRATIONS)
              .mapToObj(i -> memory.asSlice((long) i * DISTANCE_BYTES, LENGTH_BYTES))
              .toArray(MemorySegment[]::new);
      for (MemorySegment message : messages) {
        cache.acquire(message, MemoryAccess.LOCAL_WRITE, lease);
        lease.release();
      }
    }

    /** Gives everything back. */
    @TearDown
    public void close() {
      cache.close();
      arena.close();
    }
  }

  /** A hit and its release. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void hit(Registered state) {
    RegistrationLease lease = state.lease;
    for (int i = 0; i < ROUNDS; i++) {
      int at = state.order[state.next++ & state.order.length - 1];
      state.cache.acquire(state.messages[at], MemoryAccess.LOCAL_WRITE, lease);
      lease.release();
    }
  }
}
