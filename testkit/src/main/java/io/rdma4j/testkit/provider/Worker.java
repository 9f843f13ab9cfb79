package io.rdma4j.testkit.provider;

import io.rdma4j.SendResult;
import io.rdma4j.provider.Endpoint;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** One sending or polling thread of an endpoint under load. */
final class Worker {
  private static final int FLUSH_EACH = 9;

  private final String name;
  private final Loop loop;

  /** The work; returns true when it is finished. */
  private interface Loop {
    /** One round; returns true when there was something to do. */
    boolean step();

    boolean done();
  }

  private Worker(String name, Loop loop) {
    this.name = name;
    this.loop = loop;
  }

  /** Sends {@code count} messages of one seed. */
  static Worker sender(Endpoint endpoint, long seed, int count, int maxBytes) {
    MemorySegment source = MemorySegment.ofArray(new byte[maxBytes]);
    return new Worker(
        "sender of seed " + seed,
        new Loop() {
          private long number;

          @Override
          public boolean step() {
            if (done()) {
              return false;
            }
            int lengthBytes = Payload.lengthBytes(seed, number, maxBytes);
            Payload.fill(source, 0, lengthBytes, seed, number);
            long result = endpoint.send(StreamCheck.type(number), number, source, 0, lengthBytes);
            if (result >= 0) {
              number++;
              if (done() || number % FLUSH_EACH == 0) {
                endpoint.flush();
              }
              return true;
            }
            if (result != SendResult.BACK_PRESSURED) {
              throw new AssertionError(
                  "message " + number + " of seed " + seed + ": " + SendResult.nameOf(result));
            }
            return false;
          }

          @Override
          public boolean done() {
            return number == count;
          }

          @Override
          public String toString() {
            return number + " messages sent";
          }
        });
  }

  /** Polls until {@code count} messages of one seed have come. */
  static Worker poller(Endpoint endpoint, long seed, int count, int maxBytes) {
    StreamCheck check = new StreamCheck(seed, maxBytes);
    return new Worker(
        "poller of seed " + seed,
        new Loop() {
          @Override
          public boolean step() {
            int work = endpoint.poll(check, 8);
            if (check.failure != null) {
              throw new AssertionError(check.failure);
            }
            return work > 0;
          }

          @Override
          public boolean done() {
            return check.received >= count;
          }

          @Override
          public String toString() {
            return check.received + " messages received";
          }
        });
  }

  /**
   * Runs all workers at once until each is done. A worker that is done goes on until the last one
   * is: a poller is still needed by its endpoint's sender.
   */
  static void runAll(List<Worker> workers, Duration timeout) throws Exception {
    long startNs = System.nanoTime();
    AtomicInteger busy = new AtomicInteger(workers.size());
    List<FutureTask<Boolean>> tasks = new ArrayList<>();
    for (Worker worker : workers) {
      var task = new FutureTask<>(() -> worker.run(busy, startNs, timeout.toNanos()));
      tasks.add(task);
      Thread.ofPlatform().name(worker.name).daemon().start(task);
    }
    Exception failure = null;
    for (FutureTask<Boolean> task : tasks) {
      try {
        task.get(timeout.toSeconds() + 10, TimeUnit.SECONDS);
      } catch (ExecutionException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }

  private boolean run(AtomicInteger busy, long startNs, long timeoutNs) {
    boolean counted = false;
    int idle = 0;
    while (busy.get() > 0) {
      if (System.nanoTime() - startNs > timeoutNs) {
        throw new AssertionError(name + " got no further than " + loop);
      }
      if (!counted && loop.done()) {
        counted = true;
        busy.decrementAndGet();
      }
      boolean worked = loop.step();
      idle = worked ? 0 : idle + 1;
      if (idle > 100) {
        LockSupport.parkNanos(1000);
      }
    }
    return true;
  }
}
