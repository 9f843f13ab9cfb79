package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.util.concurrent.atomic.AtomicInteger;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Several threads end one request: with its answer, its deadline, a cancel. One of them does, its
 * handler hears it once, and the slot comes back once.
 */
public final class RequestTableStress {
  private RequestTableStress() {}

  /** A table of one slot, with a request in it. */
  private static final class OneRequest implements ReplyHandler {
    final RequestTable table = new RequestTable(1, new RequestTimes(NanoClock.SYSTEM));

    /** Ends that were told: units for the answer, tens for a cancel, hundreds for the deadline. */
    final AtomicInteger heard = new AtomicInteger();

    final long id;

    OneRequest(boolean held) {
      id = table.open(0, 0, this, held);
    }

    @Override
    public void onReply(long context, Message reply) {
      throw new UnsupportedOperationException("replies are not part of this");
    }

    @Override
    public void onFailure(long context, Cause cause, String message) {
      heard.getAndAdd(cause == Cause.PEER_FAILED ? 1 : cause == Cause.CANCELLED ? 10 : 100);
    }

    int answer() {
      return table.fail(id, Cause.PEER_FAILED, "of the test") ? 1 : 0;
    }

    int giveUp(Cause cause) {
      return table.giveUp(id, cause) ? 1 : 0;
    }

    /** Returns how many requests the table has room for. */
    int room() {
      int room = 0;
      while (room < 3 && table.open(0, 0, this) != SendResult.WINDOW_FULL) {
        room++;
      }
      return room;
    }
  }

  /** The answer and a cancel; the numbers are who says so, what was told, and the room after. */
  @JCStressTest
  @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "the answer ended it")
  @Outcome(id = "2, 10, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "the cancel ended it")
  @Outcome(expect = Expect.FORBIDDEN, desc = "ended twice or never, or the slot is lost")
  @State
  public static class AnswerAndCancel {
    private final OneRequest request = new OneRequest(false);
    private int answered;
    private int cancelled;

    @Actor
    public void answer() {
      answered = request.answer();
    }

    @Actor
    public void cancel() {
      cancelled = request.giveUp(Cause.CANCELLED);
    }

    @Arbiter
    public void count(III_Result result) {
      result.r1 = answered + 2 * cancelled;
      result.r2 = request.heard.get();
      result.r3 = request.room();
    }
  }

  /** A request was not sent after all while its deadline passes: it is taken back, or told. */
  @JCStressTest
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "taken back")
  @Outcome(id = "100, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "told")
  @Outcome(expect = Expect.FORBIDDEN, desc = "both or neither, or the slot is lost")
  @State
  public static class WithdrawAndDeadline {
    private final OneRequest request = new OneRequest(false);
    private int withdrawn;

    @Actor
    public void withdraw() {
      withdrawn = request.table.withdraw(request.id) ? 1 : 0;
    }

    @Actor
    public void deadline() {
      int ignored = request.giveUp(Cause.DEADLINE);
    }

    @Arbiter
    public void count(II_Result result) {
      result.r1 = withdrawn + request.heard.get();
      result.r2 = request.room();
    }
  }

  /** The device lets go of a held request while it is given up, twice. */
  @JCStressTest
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "the answer came first")
  @Outcome(id = "10, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "the cancel came first")
  @Outcome(expect = Expect.FORBIDDEN, desc = "told before, twice or never, or the slot is lost")
  @State
  public static class HeldAndGivenUp {
    private final OneRequest request = new OneRequest(true);
    private int early;

    @Actor
    public void device() {
      early = request.heard.get();
      if (request.table.unhold(request.id)) {
        int ignored = request.answer();
      }
    }

    @Actor
    public void cancelAndDeadline() {
      int ignored = request.giveUp(Cause.CANCELLED) + request.giveUp(Cause.DEADLINE);
    }

    @Arbiter
    public void count(II_Result result) {
      result.r1 = 1000 * early + request.heard.get();
      result.r2 = request.room();
    }
  }
}
