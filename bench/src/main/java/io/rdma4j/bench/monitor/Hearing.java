package io.rdma4j.bench.monitor;

import io.rdma4j.bench.Progress;
import io.rdma4j.status.Event;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.status.Incident;
import io.rdma4j.status.StatusRegistry.Registration;
import io.rdma4j.transport.Node;
import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;

/**
 * How long after an event a listener hears of its incident. The events come one after the other,
 * each of a queue pair that no device has, so that each is an incident by itself.
 *
 * @param sortedNs from the event to the first call, in ascending order
 */
record Hearing(long[] sortedNs) {
  private static final int WARM_UP = 50;
  private static final long APART_NS = 20_000_000L;
  private static final long NAP_NS = 100_000L;
  private static final long PATIENCE_NS = 60_000_000_000L;

  /** No node of a benchmark has so many connections. */
  private static final long FIRST_CONNECTION = 1_000_000;

  /**
   * Measures.
   *
   * @throws IOException when an incident is not heard of within a minute
   */
  static Hearing of(Node node, int incidents, Progress progress) throws IOException {
    AtomicLongArray heardNs = new AtomicLongArray(WARM_UP + incidents);
    long[] tookNs = new long[WARM_UP + incidents];
    Registration listening = node.journal().listen(incident -> note(incident, heardNs));
    try {
      for (int i = 0; i < tookNs.length; i++) {
        progress.show("incident " + (i + 1) + " of " + tookNs.length);
        long startNs = System.nanoTime();
        node.journal().emit(EventKind.QP_ACCESS_ERR, subject(i), "made up by a benchmark");
        tookNs[i] = await(i, heardNs, startNs) - startNs;
        LockSupport.parkNanos(APART_NS);
      }
    } finally {
      listening.close();
      progress.clear();
    }
    long[] sorted = Arrays.copyOfRange(tookNs, WARM_UP, tookNs.length);
    Arrays.sort(sorted);
    return new Hearing(sorted);
  }

  private static EventSubject subject(int number) {
    return EventSubject.queuePair("bench", 1, number).of(FIRST_CONNECTION + number, "192.0.2.7:1");
  }

  private static void note(Incident incident, AtomicLongArray heardNs) {
    Event trigger = incident.trigger();
    long number = trigger.subject().connection() - FIRST_CONNECTION;
    if (number >= 0 && number < heardNs.length()) {
      heardNs.compareAndSet((int) number, 0, System.nanoTime());
    }
  }

  private static long await(int number, AtomicLongArray heardNs, long startNs) throws IOException {
    long atNs;
    while ((atNs = heardNs.get(number)) == 0) {
      if (System.nanoTime() - startNs > PATIENCE_NS) {
        throw new IOException("a listener has not heard of incident " + number + " within 60 s");
      }
      LockSupport.parkNanos(NAP_NS);
    }
    return atNs;
  }

  int incidents() {
    return sortedNs.length;
  }

  /** Returns the least time that so many percent do not exceed. */
  long percentileNs(double percent) {
    int rank = (int) Math.ceil(percent / 100 * sortedNs.length);
    return sortedNs[Math.clamp(rank - 1, 0, sortedNs.length - 1)];
  }
}
