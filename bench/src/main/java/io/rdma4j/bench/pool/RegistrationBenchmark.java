package io.rdma4j.bench.pool;

import io.rdma4j.bench.natives.FixedBuffers;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.ProtectionDomain;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * What the pool spares: making 8 KiB known to a device for one message, and forgetting them again.
 * The memory is there and warm; with malloc before and free after it would cost more.
 */
public class RegistrationBenchmark {
  private static final long LENGTH_BYTES = 8192;
  private static final long PAGE_BYTES = 4096;

  /** Created by JMH. */
  public RegistrationBenchmark() {}

  /** Memory of two pages, and a ring to pin it with. */
  @State(Scope.Thread)
  public static class Pinned {
    private final Arena arena = Arena.ofShared();
    private final FixedBuffers buffers = new FixedBuffers();
    private final MemorySegment description;

    /** Created by JMH. */
    public Pinned() {
      MemorySegment memory = arena.allocate(LENGTH_BYTES, PAGE_BYTES);
      description = FixedBuffers.describe(arena, memory.address(), LENGTH_BYTES);
    }

    /** Gives both back. */
    @TearDown
    public void close() {
      buffers.close();
      arena.close();
    }
  }

  /** Memory of two pages, and a device to register it with. */
  @State(Scope.Thread)
  public static class Registered {
    private final Arena arena = Arena.ofShared();
    private final long address = arena.allocate(LENGTH_BYTES, PAGE_BYTES).address();
    private final ProtectionDomain domain =
        Objects.requireNonNull(Rivals.REGISTRAR.domain(), "no device");

    /** Created by JMH. */
    public Registered() {}

    /** Gives the memory back. */
    @TearDown
    public void close() {
      arena.close();
    }
  }

  /** The kernel's part alone: a lower bound. */
  @Benchmark
  public void pin(Pinned state) {
    state.buffers.pin(state.description);
    state.buffers.unpin();
  }

  /** With a device. */
  @Benchmark
  public void regmr(Registered state) {
    state.domain.registerMemory(state.address, LENGTH_BYTES, Access.LOCAL_WRITE).close();
  }
}
