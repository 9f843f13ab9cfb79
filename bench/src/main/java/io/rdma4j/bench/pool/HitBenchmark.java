package io.rdma4j.bench.pool;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdma4j.pool.PoolView;
import io.rdma4j.pool.RegisteredBuffer;
import java.lang.foreign.Arena;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.CompilerControl;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * One thread allocates a block and gives it back; in the methods named so, it also writes the first
 * word, which takes the way from the block to its memory.
 *
 * <p>A call does so some times, for every rival alike, since JMH's own loop costs as much as a
 * fourth of the cheapest of them. No round is merged with the next: calls into C libraries and
 * opaque accesses stay apart, as the count of instructions in the gates shows for ours. The rounds
 * are a method by themselves: inlined, they would share the registers with JMH's loop, and where
 * there are too few the compiler spills the counter of the rounds, which then is what is measured.
 */
@State(Scope.Benchmark)
@CompilerControl(CompilerControl.Mode.DONT_INLINE)
public class HitBenchmark {
  private static final int BLOCK_BYTES = 8192;
  private static final int ROUNDS = 16;

  /** Block size. */
  @Param("8192")
  public int sizeBytes;

  /** Created by JMH. */
  public HitBenchmark() {}

  /** The lease a thread keeps and reuses. */
  @State(Scope.Thread)
  public static class Lease {
    final RegisteredBuffer buffer = Rivals.POOL.newLease();

    /** Created by JMH. */
    public Lease() {}
  }

  /** The pool, by its safe face. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void ours(Lease lease) {
    RegisteredBuffer buffer = lease.buffer;
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.POOL.allocate(sizeBytes, buffer);
      buffer.release();
    }
  }

  /** The pool, by its safe face, with the write. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void oursTouched(Lease lease) {
    RegisteredBuffer buffer = lease.buffer;
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.POOL.allocate(sizeBytes, buffer);
      buffer.segment().set(JAVA_LONG, 0, sizeBytes);
      buffer.release();
    }
  }

  /** The view a thread keeps; made by the measuring thread, which is the one that may use it. */
  @State(Scope.Thread)
  public static class View {
    final PoolView view = Rivals.POOL.view(BLOCK_BYTES);

    /** Created by JMH. */
    public View() {}
  }

  /** The pool, by the view that a thread keeps for blocks of one size. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void view(View kept) {
    PoolView view = kept.view;
    for (int i = 0; i < ROUNDS; i++) {
      view.release(view.allocate());
    }
  }

  /** The pool, by the view, with the write. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void viewTouched(View kept) {
    PoolView view = kept.view;
    for (int i = 0; i < ROUNDS; i++) {
      long handle = view.allocate();
      view.segment(handle).set(JAVA_LONG, 0, sizeBytes);
      view.release(handle);
    }
  }

  /** The C library. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void glibc() {
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.GLIBC.pair(sizeBytes);
    }
  }

  /** The C library, with the write. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void glibcTouched() {
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.GLIBC.touchedPair(sizeBytes);
    }
  }

  /** The C library through ordinary downcalls, as a program that knows no better calls it. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void glibcPlain() {
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.GLIBC_PLAIN.pair(sizeBytes);
    }
  }

  /** Thread-caching malloc of gperftools. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void tcmalloc() {
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.TCMALLOC.pair(sizeBytes);
    }
  }

  /** Thread-caching malloc, with the write. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void tcmallocTouched() {
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.TCMALLOC.touchedPair(sizeBytes);
    }
  }

  /** As its name says. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void jemalloc() {
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.JEMALLOC.pair(sizeBytes);
    }
  }

  /** As its name says. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void mimalloc() {
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.MIMALLOC.pair(sizeBytes);
    }
  }

  /** Netty's older allocator. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void nettyPooled() {
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.NETTY_POOLED.pair(sizeBytes);
    }
  }

  /** Netty's default allocator since 4.2. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void nettyAdaptive() {
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.NETTY_ADAPTIVE.pair(sizeBytes);
    }
  }

  /** Netty's default allocator, with the write. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public void nettyAdaptiveTouched() {
    for (int i = 0; i < ROUNDS; i++) {
      Rivals.NETTY_ADAPTIVE.touchedPair(sizeBytes);
    }
  }

  /** What the JDK has: malloc, clearing and free. */
  @Benchmark
  @OperationsPerInvocation(ROUNDS)
  public long arena() {
    long addresses = 0;
    for (int i = 0; i < ROUNDS; i++) {
      try (Arena arena = Arena.ofConfined()) {
        addresses ^= arena.allocate(sizeBytes, Long.BYTES).address();
      }
    }
    return addresses;
  }
}
