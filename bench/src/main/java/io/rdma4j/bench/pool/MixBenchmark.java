package io.rdma4j.bench.pool;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Patterns of several threads: wall time of a run by the blocks it moves.
 *
 * <p>Loops and helping threads are kept for the whole process, so that each row finds its code
 * compiled and its caches filled in every round.
 */
@State(Scope.Benchmark)
public class MixBenchmark {
  /** Blocks that one run of platform threads moves: so many that starting it is no part of it. */
  static final int BLOCKS = 1 << 15;

  /** More, since a run of virtual threads also starts them. */
  static final int VIRTUAL_BLOCKS = 1 << 18;

  private static final Map<String, Class<? extends Loop>> PATTERNS =
      Map.of(
          "xthread", HandoverLoop.class,
          "xmalloc", BatchLoop.class,
          "larson", LarsonLoop.class,
          "virtual", VirtualLoop.class);

  private static final Map<String, Loop> LOOPS = new HashMap<>();
  private static final List<ExecutorService> HELPERS = new ArrayList<>();

  /** Pattern: xthread, xmalloc, larson or virtual. */
  @Param("xthread")
  public String pattern = "";

  /** Name in {@link Rivals}. */
  @Param(Rivals.OUR_NAME)
  public String rival = "";

  /** Block size. */
  @Param("8192")
  public int sizeBytes;

  private @Nullable Loop loop;

  /** Created by JMH. */
  public MixBenchmark() {}

  /** Looks the loop up, or makes it and its threads the first time. */
  @Setup
  public void prepare() {
    loop =
        LOOPS.computeIfAbsent(
            "%s %s %d".formatted(pattern, rival, sizeBytes),
            key -> LoopCopy.of(patternClass(), Rivals.named(rival), sizeBytes));
    while (HELPERS.size() < loop.threads() - 1) {
      HELPERS.add(Executors.newSingleThreadExecutor(MeasuringThread::create));
    }
  }

  private Class<? extends Loop> patternClass() {
    Class<? extends Loop> known = PATTERNS.get(pattern);
    if (known == null) {
      throw new IllegalArgumentException(pattern + " is none of " + PATTERNS.keySet());
    }
    return known;
  }

  /** Platform threads. */
  @Benchmark
  @OperationsPerInvocation(BLOCKS)
  public void platform() throws InterruptedException, ExecutionException {
    run();
  }

  /** Virtual threads. */
  @Benchmark
  @OperationsPerInvocation(VIRTUAL_BLOCKS)
  public void virtual() throws InterruptedException, ExecutionException {
    run();
  }

  private void run() throws InterruptedException, ExecutionException {
    Loop running = Objects.requireNonNull(loop, "JMH did not call prepare");
    List<Future<?>> helping = new ArrayList<>();
    for (int thread = 1; thread < running.threads(); thread++) {
      int part = thread;
      helping.add(HELPERS.get(thread - 1).submit(() -> running.work(part)));
    }
    running.work(0);
    for (Future<?> part : helping) {
      part.get();
    }
  }

  /** Gives back the blocks that loops keep between runs. */
  static void closeLoops() {
    LOOPS.values().forEach(Loop::close);
    LOOPS.clear();
  }
}
