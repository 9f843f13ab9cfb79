package io.rdma4j.bench.pool;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdma4j.pool.PoolView;
import io.rdma4j.pool.RegisteredBuffer;
import java.lang.foreign.Arena;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/**
 * One thread allocates a block and gives it back; in the methods named so, it also writes the first
 * word, which takes the way from the block to its memory.
 */
@State(Scope.Benchmark)
public class HitBenchmark {
  private static final int BLOCK_BYTES = 8192;

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
  public void ours(Lease lease) {
    RegisteredBuffer buffer = lease.buffer;
    Rivals.POOL.allocate(sizeBytes, buffer);
    buffer.release();
  }

  /** The pool, by its safe face, with the write. */
  @Benchmark
  public void oursTouched(Lease lease) {
    RegisteredBuffer buffer = lease.buffer;
    Rivals.POOL.allocate(sizeBytes, buffer);
    buffer.segment().set(JAVA_LONG, 0, sizeBytes);
    buffer.release();
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
  public void view(View kept) {
    kept.view.release(kept.view.allocate());
  }

  /** The pool, by the view, with the write. */
  @Benchmark
  public void viewTouched(View kept) {
    long handle = kept.view.allocate();
    kept.view.segment(handle).set(JAVA_LONG, 0, sizeBytes);
    kept.view.release(handle);
  }

  /** The C library. */
  @Benchmark
  public void glibc() {
    Rivals.GLIBC.pair(sizeBytes);
  }

  /** The C library, with the write. */
  @Benchmark
  public void glibcTouched() {
    Rivals.GLIBC.touchedPair(sizeBytes);
  }

  /** The C library through ordinary downcalls, as a program that knows no better calls it. */
  @Benchmark
  public void glibcPlain() {
    Rivals.GLIBC_PLAIN.pair(sizeBytes);
  }

  /** Thread-caching malloc of gperftools. */
  @Benchmark
  public void tcmalloc() {
    Rivals.TCMALLOC.pair(sizeBytes);
  }

  /** Thread-caching malloc, with the write. */
  @Benchmark
  public void tcmallocTouched() {
    Rivals.TCMALLOC.touchedPair(sizeBytes);
  }

  /** As its name says. */
  @Benchmark
  public void jemalloc() {
    Rivals.JEMALLOC.pair(sizeBytes);
  }

  /** As its name says. */
  @Benchmark
  public void mimalloc() {
    Rivals.MIMALLOC.pair(sizeBytes);
  }

  /** Netty's older allocator. */
  @Benchmark
  public void nettyPooled() {
    Rivals.NETTY_POOLED.pair(sizeBytes);
  }

  /** Netty's default allocator since 4.2. */
  @Benchmark
  public void nettyAdaptive() {
    Rivals.NETTY_ADAPTIVE.pair(sizeBytes);
  }

  /** Netty's default allocator, with the write. */
  @Benchmark
  public void nettyAdaptiveTouched() {
    Rivals.NETTY_ADAPTIVE.touchedPair(sizeBytes);
  }

  /** What the JDK has: malloc, clearing and free. */
  @Benchmark
  public long arena() {
    try (Arena arena = Arena.ofConfined()) {
      return arena.allocate(sizeBytes, Long.BYTES).address();
    }
  }
}
