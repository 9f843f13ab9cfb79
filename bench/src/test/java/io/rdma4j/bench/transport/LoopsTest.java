package io.rdma4j.bench.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.util.ArrayDeque;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The loops over a link to a peer in the same thread: whenever this side polls, the peer does. */
@Timeout(60)
class LoopsTest {
  private record Sent(long sequence, long flags, int lengthBytes) {}

  /** Holds a few messages, so that both sides meet back-pressure. */
  private static final class QueueLink extends Link {
    private static final int CAPACITY = 3;
    private final ArrayDeque<Sent> out;
    private final ArrayDeque<Sent> in;
    private QueueLink peer = this;
    private long bytesRead;

    QueueLink(ArrayDeque<Sent> out, ArrayDeque<Sent> in) {
      this.out = out;
      this.in = in;
    }

    @Override
    boolean offer(long sequence, long flags, int lengthBytes) throws IOException {
      if (out.size() == CAPACITY) {
        if (peer != this) {
          peer.poll();
          peer.settle();
        }
        return false;
      }
      out.add(new Sent(sequence, flags, lengthBytes));
      return true;
    }

    @Override
    void read(int lengthBytes) {
      bytesRead += lengthBytes;
    }

    @Override
    void flush() {}

    @Override
    int poll() throws IOException {
      if (peer != this) {
        peer.poll();
        peer.settle();
      }
      int messages = 0;
      for (Sent next = in.poll(); next != null; next = in.poll()) {
        received(next.sequence(), next.flags(), next.lengthBytes(), 0);
        messages++;
      }
      return messages;
    }

    @Override
    public void close() {}
  }

  private final ArrayDeque<Sent> there = new ArrayDeque<>();
  private final ArrayDeque<Sent> back = new ArrayDeque<>();
  private final QueueLink far = new QueueLink(back, there);
  private final QueueLink near = new QueueLink(there, back);
  private final Loop loop;

  LoopsTest() {
    near.peer = far;
    loop = LinkCopy.of(Loop.class, LinkLoop.class, near);
  }

  private void assertCounts(long sent, long answered) {
    assertEquals(sent, far.receivedCount());
    assertEquals(answered, near.receivedCount());
    assertEquals(0, far.misorderedCount());
    assertEquals(0, near.misorderedCount());
  }

  @Test
  void eachRoundTripIsAnswered() throws IOException {
    loop.roundTrips(100, 64);
    assertCounts(100, 100);
  }

  @Test
  void eachTimedRoundTripIsRecorded() throws IOException {
    Histogram ns = new Histogram(3);
    loop.timedRoundTrips(50, 64, ns);
    assertCounts(50, 50);
    assertEquals(50, ns.getTotalCount());
  }

  @Test
  void eachPacedRoundTripIsRecorded() throws IOException {
    Histogram ns = new Histogram(3);
    loop.pacedRoundTrips(50, 1_000, 64, ns);
    assertCounts(50, 50);
    assertEquals(50, ns.getTotalCount());
  }

  @Test
  void eachReadIsRecorded() throws IOException {
    Histogram ns = new Histogram(3);
    Task task = Task.read(64);
    task.runTimed(loop, 30, ns);
    task.run(loop, 20);
    assertEquals(50 * 64, near.bytesRead);
    assertEquals(30, ns.getTotalCount());
    assertCounts(0, 0);
  }

  @Test
  void theLastMessageOfAStreamIsAnswered() throws IOException {
    loop.stream(100, 512, 7);
    assertCounts(100, 1);
  }

  @Test
  void transactionsMeetBackPressureAndAllEnd() throws IOException {
    loop.transactions(100, 64, 16);
    assertCounts(100, 100);
  }

  @Test
  void aPeerStopsServing() throws IOException {
    loop.stop();
    Serving serving = LinkCopy.of(Serving.class, ServingLoop.class, far);
    serving.serve();
    assertEquals(1, far.receivedCount());
  }
}
