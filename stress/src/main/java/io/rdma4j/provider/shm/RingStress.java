package io.rdma4j.provider.shm;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * One thread writes more messages than the ring has room for while another reads them: each comes
 * once, in order and whole. The memory is a heap segment; access to it is the same.
 */
public final class RingStress {
  private static final int MESSAGES = 12;
  private static final int RING_LONGS = 64;

  /** A message of two lines, so that three records and a rest fill the ring. */
  private static final int PAYLOAD_LONGS = 8;

  private static final int PAYLOAD_BYTES = PAYLOAD_LONGS * Long.BYTES;

  private RingStress() {}

  private static MemorySegment memory(int longs) {
    return MemorySegment.ofArray(new long[longs]);
  }

  /** Counts messages that are the next one, and whole. */
  private static final class Check implements EndpointListener {
    int messages;
    int broken;

    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      messages++;
      boolean whole = correlationId == messages && lengthBytes == PAYLOAD_BYTES;
      for (int i = 0; i < PAYLOAD_LONGS && whole; i++) {
        whole = memory.get(JAVA_LONG, offset + (long) i * Long.BYTES) == messages;
      }
      broken += whole ? 0 : 1;
    }

    @Override
    public void onSent(long token) {
      throw new UnsupportedOperationException("a ring has no tokens");
    }

    @Override
    public void onFailure(EndpointFailure cause) {
      throw new UnsupportedOperationException("a ring does not fail");
    }
  }

  private static void fill(MemorySegment payload, int message) {
    for (int i = 0; i < PAYLOAD_LONGS; i++) {
      payload.setAtIndex(JAVA_LONG, i, message);
    }
  }

  /** As it is. */
  @JCStressTest
  @Outcome(id = "12, 0", expect = Expect.ACCEPTABLE, desc = "all whole and in order")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a message lost, doubled or torn")
  @State
  public static class WriteAndPoll {
    private final MemorySegment consumer = memory(1);
    private final MemorySegment ring = memory(RING_LONGS);
    private final RingWriter writer = new RingWriter(ring, consumer);
    private final RingReader reader = new RingReader(ring, consumer, PAYLOAD_BYTES);
    private final MemorySegment payload = memory(PAYLOAD_LONGS);
    private final Check check = new Check();

    @Actor
    public void sender() {
      for (int message = 1; message <= MESSAGES; ) {
        fill(payload, message);
        int written = writer.write(1, message, payload, 0, PAYLOAD_BYTES);
        if (written == RingWriter.CORRUPT) {
          return;
        }
        message += written == RingWriter.WRITTEN ? 1 : 0;
      }
      writer.publish();
    }

    @Actor
    public void poller() {
      while (check.messages < MESSAGES && reader.corruption() == null) {
        if (reader.poll(check, MESSAGES) == 0) {
          reader.reclaim();
          Thread.onSpinWait();
        }
      }
    }

    @Arbiter
    public void look(II_Result result) {
      result.r1 = check.messages;
      result.r2 = check.broken;
    }
  }

  /** A writer that commits a record before its payload is there. */
  @JCStressTest
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "the message is whole")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "the message is torn")
  @State
  public static class CommitFirst {
    private final MemorySegment ring = memory(RING_LONGS);
    private final RingReader reader = new RingReader(ring, memory(1), PAYLOAD_BYTES);
    private final MemorySegment payload = memory(PAYLOAD_LONGS);
    private final Check check = new Check();

    @Actor
    public void sender() {
      fill(payload, 1);
      RecordLayout.WORD.setRelease(
          ring, 0L, RecordLayout.commitWord(RecordLayout.MESSAGE, 1, PAYLOAD_BYTES));
      MemorySegment.copy(payload, 0, ring, RecordLayout.HEADER_BYTES, PAYLOAD_BYTES);
      ring.set(JAVA_LONG, RecordLayout.CORRELATION_ID, 1L);
    }

    @Actor
    public void poller() {
      while (reader.poll(check, 1) == 0) {
        Thread.onSpinWait();
      }
    }

    @Arbiter
    public void look(II_Result result) {
      result.r1 = check.messages;
      result.r2 = check.broken;
    }
  }

  /** A reader that gives a record back before it has delivered and zeroed it. */
  @JCStressTest
  @Outcome(id = "12, 0", expect = Expect.ACCEPTABLE, desc = "all whole and in order")
  @Outcome(
      expect = Expect.ACCEPTABLE_INTERESTING,
      desc = "a message is overwritten while it is delivered, or zeroed before")
  @State
  public static class GiveBackFirst {
    private static final int PATIENCE = 10_000;
    private static final long RECORD_BYTES = RecordLayout.recordBytes(PAYLOAD_BYTES);

    private final MemorySegment consumer = memory(1);
    private final MemorySegment ring = memory(RING_LONGS);
    private final RingWriter writer = new RingWriter(ring, consumer);
    private final MemorySegment payload = memory(PAYLOAD_LONGS);
    private final Check check = new Check();

    @Actor
    public void sender() {
      int tries = 0;
      for (int message = 1; message <= MESSAGES && tries < PATIENCE; tries++) {
        fill(payload, message);
        if (writer.write(1, message, payload, 0, PAYLOAD_BYTES) == RingWriter.WRITTEN) {
          message++;
          tries = 0;
        }
      }
      writer.publish();
    }

    @Actor
    public void poller() {
      long position = 0;
      int tries = 0;
      while (check.messages < MESSAGES && tries < PATIENCE) {
        long index = position & ring.byteSize() - 1;
        if ((long) RecordLayout.WORD.getAcquire(ring, index) == 0) {
          tries++;
          Thread.onSpinWait();
          continue;
        }
        tries = 0;
        position += RECORD_BYTES;
        RecordLayout.WORD.setRelease(consumer, 0L, position);
        check.onMessage(
            1,
            ring.get(JAVA_LONG, index + RecordLayout.CORRELATION_ID),
            ring,
            index + RecordLayout.HEADER_BYTES,
            PAYLOAD_BYTES);
        for (long line = index; line < index + RECORD_BYTES; line += RecordLayout.LINE_BYTES) {
          ring.set(JAVA_LONG, line, 0L);
        }
      }
    }

    @Arbiter
    public void look(II_Result result) {
      result.r1 = check.messages;
      result.r2 = check.broken;
    }
  }
}
