package io.rdma4j.pool.internal;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * A search through two lists while the only block moves from the one searched last to the one
 * searched first. A miss is no harm if the search notices that something moved.
 */
public final class TransfersStress {
  private static final int FOUND = 0;
  private static final int LOOK_AGAIN = 1;
  private static final int REFUSED = 2;

  private TransfersStress() {}

  private static final class TwoLists {
    final SharedList from = new SharedList(Blocks.SLABS.links());
    final SharedList to = new SharedList(Blocks.SLABS.links());

    TwoLists() {
      from.push(Blocks.next().batch(0, 1));
    }

    void move() {
      to.push(from.pop());
    }

    boolean isFound() {
      return !to.isEmpty() || !from.isEmpty();
    }
  }

  /** As it is. */
  @JCStressTest
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "found")
  @Outcome(id = "1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "missed, and noticed")
  @Outcome(id = "2", expect = Expect.FORBIDDEN, desc = "refused, although a block was free")
  @State
  public static class Announced {
    private final TwoLists lists = new TwoLists();
    private final Transfers transfers = new Transfers();

    @Actor
    public void mover() {
      transfers.begin();
      lists.move();
      transfers.end();
    }

    @Actor
    public void searcher(I_Result result) {
      long mark = transfers.mark();
      if (lists.isFound()) {
        result.r1 = FOUND;
      } else {
        result.r1 = transfers.isQuietSince(mark) ? REFUSED : LOOK_AGAIN;
      }
    }
  }

  /** Nobody tells of the move. */
  @JCStressTest
  @Outcome(id = "0", expect = Expect.ACCEPTABLE, desc = "found")
  @Outcome(
      id = "2",
      expect = Expect.ACCEPTABLE_INTERESTING,
      desc = "refused, although a block was free")
  @State
  public static class Unannounced {
    private final TwoLists lists = new TwoLists();

    @Actor
    public void mover() {
      lists.move();
    }

    @Actor
    public void searcher(I_Result result) {
      result.r1 = lists.isFound() ? FOUND : REFUSED;
    }
  }

  /** The transfers of a class tell of their beginning, but nobody looks whether one has ended. */
  @JCStressTest
  @Outcome(id = "[01]", expect = Expect.ACCEPTABLE, desc = "found, or missed and noticed")
  @Outcome(
      id = "2",
      expect = Expect.ACCEPTABLE_INTERESTING,
      desc = "refused, although a block was free")
  @State
  public static class BeginningsOnly {
    private final TwoLists lists = new TwoLists();
    private volatile int begun;

    @Actor
    public void mover() {
      begun = 1;
      lists.move();
    }

    @Actor
    public void searcher(I_Result result) {
      int mark = begun;
      if (lists.isFound()) {
        result.r1 = FOUND;
      } else {
        result.r1 = begun == mark ? REFUSED : LOOK_AGAIN;
      }
    }
  }
}
