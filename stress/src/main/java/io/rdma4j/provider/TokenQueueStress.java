package io.rdma4j.provider;

import java.lang.foreign.MemorySegment;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** One thread offers tokens 1 to 4 to a queue of two slots while another drains it. */
public final class TokenQueueStress {
  private static final int TOKENS = 4;

  private TokenQueueStress() {}

  /** Writes tokens one behind the other, as decimal digits. */
  private static final class Digits implements EndpointListener {
    int seen;

    @Override
    public void onSent(long token) {
      seen = 10 * seen + (int) token;
    }

    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      throw new UnsupportedOperationException("a queue of tokens has no messages");
    }

    @Override
    public void onFailure(EndpointFailure cause) {
      throw new UnsupportedOperationException("a queue of tokens does not fail");
    }
  }

  /** As it is. */
  @JCStressTest
  @Outcome(id = "1234", expect = Expect.ACCEPTABLE, desc = "each once, in order")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a token lost, doubled, early or out of order")
  @State
  public static class OfferAndDrain {
    private final TokenQueue queue = new TokenQueue(2);
    private final Digits digits = new Digits();

    @Actor
    public void sender() {
      for (long token = 1; token <= TOKENS; ) {
        if (queue.offer(token)) {
          token++;
        } else {
          Thread.onSpinWait();
        }
      }
    }

    @Actor
    public void poller() {
      for (int drained = 0; drained < TOKENS; ) {
        drained += queue.drain(digits);
        Thread.onSpinWait();
      }
    }

    @Arbiter
    public void look(I_Result result) {
      result.r1 = digits.seen;
    }
  }

  /** A queue that moves its tail on first and writes the token then. */
  @JCStressTest
  @Outcome(id = "1234", expect = Expect.ACCEPTABLE, desc = "each once, in order")
  @Outcome(expect = Expect.ACCEPTABLE_INTERESTING, desc = "a token seen before it was written")
  @State
  public static class TailFirst {
    private final long[] slots = new long[TOKENS];
    private volatile int tail;
    private int seen;

    @Actor
    public void sender() {
      for (int i = 0; i < TOKENS; i++) {
        int token = i + 1;
        tail = token;
        slots[i] = token;
      }
    }

    @Actor
    public void poller() {
      for (int head = 0; head < TOKENS; ) {
        for (int end = tail; head < end; head++) {
          seen = 10 * seen + (int) slots[head];
        }
        Thread.onSpinWait();
      }
    }

    @Arbiter
    public void look(I_Result result) {
      result.r1 = seen;
    }
  }
}
