package io.rdma4j.bench.transport;

import com.sun.management.ThreadMXBean;
import io.rdma4j.bench.natives.Linux;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import org.HdrHistogram.Histogram;

/** A connected way. Single thread only. Owns its end of the link. */
final class LinkSubject implements Subject, AutoCloseable {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private static final int CALIBRATIONS = 3;

  private final String name;
  private final boolean carriesStreams;
  private final PeerProcess peer;
  private final Link link;
  private final Loop loop;
  private final Histogram batchNs = new Histogram(3);
  private final Histogram roundTripNs = new Histogram(3);

  LinkSubject(Way way, PeerProcess peer) throws IOException {
    this.name = way.name();
    this.carriesStreams = way.carriesStreams();
    this.peer = peer;
    link = peer.open(way);
    loop = LinkCopy.of(Loop.class, LinkLoop.class, link);
  }

  boolean carriesStreams() {
    return carriesStreams;
  }

  @Override
  public void warmUp(Task task, long durationNs) throws IOException {
    peer.serve(name);
    long count = task.fewest();
    long leftNs = durationNs;
    while (leftNs > 0) {
      long tookNs = Math.max(1, task.run(loop, count));
      if (task.kind().isOneByOne()) {
        task.runTimed(loop, count, batchNs);
      }
      leftNs -= tookNs;
      if (tookNs < durationNs / 20) {
        count *= 2;
      }
    }
    stop();
  }

  @Override
  public Batches measure(Task task, int batches, long durationNs) throws IOException {
    double[] nsPerOp = new double[batches];
    peer.serve(name);
    long count = countOf(task, durationNs);
    long cpuNs = peer.cpuNs() + Linux.processCpuNs();
    long bytes = THREADS.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < batches; i++) {
      nsPerOp[i] =
          task.kind().isOneByOne() ? medianNs(task, count) : (double) task.run(loop, count) / count;
    }
    long allBytes = THREADS.getCurrentThreadAllocatedBytes() - bytes;
    long allCpuNs = peer.cpuNs() + Linux.processCpuNs() - cpuNs;
    stop();
    double operations = (double) count * batches;
    return new Batches(nsPerOp, allCpuNs / operations, allBytes / operations);
  }

  /** On a machine with other work a mean is that of the interruptions; the median is not. */
  private double medianNs(Task task, long count) throws IOException {
    batchNs.reset();
    task.runTimed(loop, count, batchNs);
    if (task.kind() == Task.Kind.ROUND_TRIP) {
      roundTripNs.add(batchNs);
    }
    return batchNs.getValueAtPercentile(50);
  }

  /**
   * Finds how many operations last about as long as a batch should. The fastest of some tries
   * counts: the peer may have been asleep at the first, and a batch that is too short measures how
   * a batch begins.
   */
  private long countOf(Task task, long durationNs) throws IOException {
    long count = task.fewest();
    while (true) {
      long tookNs = Long.MAX_VALUE;
      for (int i = 0; i < CALIBRATIONS; i++) {
        tookNs = Math.min(tookNs, Math.max(1, task.run(loop, count)));
      }
      if (tookNs >= durationNs / 4) {
        return Math.max(task.depth(), (long) ((double) count * durationNs / tookNs));
      }
      count *= 2;
    }
  }

  /** Returns the times of all round trips that were measured one after the other. */
  Histogram roundTripNs() {
    return roundTripNs;
  }

  /** Records response times at a fixed rate. */
  void pacedRoundTrips(long count, long intervalNs, int lengthBytes, Histogram into)
      throws IOException {
    peer.serve(name);
    loop.pacedRoundTrips(count, intervalNs, lengthBytes, into);
    stop();
  }

  private void stop() throws IOException {
    loop.stop();
    PeerProcess.Served served = peer.served();
    if (served.misordered() > 0 || link.misorderedCount() > 0) {
      throw new IOException(
          name
              + " has lost or reordered messages: "
              + served.misordered()
              + " there, "
              + link.misorderedCount()
              + " here");
    }
  }

  @Override
  public void close() throws IOException {
    link.close();
  }
}
