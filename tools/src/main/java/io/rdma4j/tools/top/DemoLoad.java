package io.rdma4j.tools.top;

import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Work that shows a pool breathe: phases of bursts and of silence, again and again, by threads that
 * allocate, write into, hand over and release buffers. A fourth of the buffers is released by
 * another thread than the one that allocated them. Nothing stays behind.
 */
final class DemoLoad implements AutoCloseable {
  private static final long STEP_NS = 1_000_000;
  private static final int THREADS = 2;

  /**
   * What each thread does for a while.
   *
   * @param heldBuffers buffers it keeps, each replaced after a while
   * @param fromBytes shortest buffer
   * @param toBytes longest buffer
   * @param stepBuffers buffers replaced in each millisecond
   */
  private record Phase(
      String name, double seconds, int heldBuffers, int fromBytes, int toBytes, int stepBuffers) {}

  private static final List<Phase> PHASES =
      List.of(
          new Phase("small messages", 3, 100, 64, 8192, 400),
          new Phase("burst of small messages", 3, 900, 64, 16384, 300),
          new Phase("large messages", 3, 150, 16385, 65536, 60),
          new Phase("a trickle", 3, 10, 64, 8192, 5),
          new Phase("silence", 6, 0, 64, 8192, 0));

  private final RegisteredBufferPool pool;
  private final ConcurrentLinkedQueue<Long> handedOver = new ConcurrentLinkedQueue<>();
  private final List<Thread> threads = new ArrayList<>();
  private final long startNs = System.nanoTime();
  private volatile boolean stopped;
  private volatile @Nullable Throwable failure;

  DemoLoad(RegisteredBufferPool pool) {
    this.pool = pool;
    for (int i = 0; i < THREADS; i++) {
      Random random = new Random(i);
      threads.add(start("rdma4j-demo-sender-" + i, () -> send(random)));
    }
    threads.add(start("rdma4j-demo-completions", this::complete));
  }

  private Thread start(String name, Runnable work) {
    return Thread.ofPlatform()
        .daemon()
        .name(name)
        .uncaughtExceptionHandler((thread, e) -> failure = e)
        .start(work);
  }

  /** Returns a pool's configuration that such a load makes visible within seconds. */
  static PoolConfig config() {
    return PoolConfig.builder()
        .slabBytes(1 << 20)
        .maxBytes(64 << 20)
        .hugePages(HugePages.NONE)
        .cleanupInterval(Duration.ofSeconds(2))
        .sampleEvery(64)
        .build();
  }

  /** Returns what the load does now. */
  String phase() {
    return phaseNow().name;
  }

  private Phase phaseNow() {
    double cycle = PHASES.stream().mapToDouble(Phase::seconds).sum();
    double at = (System.nanoTime() - startNs) / 1e9 % cycle;
    for (Phase phase : PHASES) {
      at -= phase.seconds;
      if (at < 0) {
        return phase;
      }
    }
    return PHASES.getLast();
  }

  private void send(Random random) {
    Deque<RegisteredBuffer> held = new ArrayDeque<>();
    Deque<RegisteredBuffer> empty = new ArrayDeque<>();
    while (!stopped) {
      Phase phase = phaseNow();
      for (int i = 0; i < phase.stepBuffers; i++) {
        allocate(phase, random, held, empty);
        while (held.size() > phase.heldBuffers) {
          release(held.removeFirst(), random, empty);
        }
      }
      while (held.size() > phase.heldBuffers) {
        release(held.removeFirst(), random, empty);
      }
      LockSupport.parkNanos(STEP_NS);
    }
    held.forEach(RegisteredBuffer::release);
  }

  private void allocate(
      Phase phase, Random random, Deque<RegisteredBuffer> held, Deque<RegisteredBuffer> empty) {
    RegisteredBuffer lease = empty.isEmpty() ? pool.newLease() : empty.removeLast();
    int lengthBytes = random.nextInt(phase.fromBytes, phase.toBytes + 1);
    if (pool.tryAllocate(lengthBytes, lease)) {
      lease.segment().set(ValueLayout.JAVA_LONG, 0, lengthBytes);
      held.addLast(lease);
    } else {
      empty.addLast(lease);
    }
  }

  private void release(RegisteredBuffer lease, Random random, Deque<RegisteredBuffer> empty) {
    if (random.nextInt(4) == 0) {
      handedOver.add(lease.detach());
    } else {
      lease.release();
    }
    empty.addLast(lease);
  }

  /** Releases what senders handed over, as the thread does that polls a completion queue. */
  private void complete() {
    while (!stopped) {
      releaseHandedOver();
      LockSupport.parkNanos(STEP_NS);
    }
  }

  private void releaseHandedOver() {
    for (Long handle = handedOver.poll(); handle != null; handle = handedOver.poll()) {
      pool.release(handle);
    }
  }

  /**
   * Ends all threads; every buffer has been released when this returns.
   *
   * @throws IllegalStateException when a thread failed
   */
  @Override
  public void close() {
    stopped = true;
    boolean interrupted = false;
    for (Thread thread : threads) {
      while (thread.isAlive()) {
        try {
          thread.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    releaseHandedOver();
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (failure != null) {
      throw new IllegalStateException("a thread of the load failed", failure);
    }
  }
}
