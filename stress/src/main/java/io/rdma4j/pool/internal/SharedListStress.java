package io.rdma4j.pool.internal;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * Pops meet two pops and two pushes: the head that a pop read comes back, the batch below it does
 * not.
 */
public final class SharedListStress {
  private static final int ROUNDS = 8;

  private SharedListStress() {}

  /** Three batches in a list, and who has taken them. */
  private static final class Batches {
    final Blocks blocks = Blocks.next();
    final SharedList list;

    Batches(long tagStep) {
      list = new SharedList(Blocks.SLABS.links(), tagStep);
      for (int i = 0; i < 3; i++) {
        list.push(blocks.batch(i, 1));
      }
    }

    void takeAndGiveOne() {
      for (int i = 0; i < ROUNDS; i++) {
        give(list.pop());
      }
    }

    void takeAndGiveTwo() {
      for (int i = 0; i < ROUNDS; i++) {
        int first = list.pop();
        int second = list.pop();
        give(first);
        give(second);
      }
    }

    private void give(int batch) {
      if (batch != BlockLinks.NONE) {
        list.push(batch);
      }
    }

    int distinct() {
      Blocks.Count count = blocks.count();
      // Without tags the list may have become a circle.
      for (int i = 0; i <= 3 && !list.isEmpty(); i++) {
        count.addBlock(list.pop());
      }
      return count.distinctOrMinusOne();
    }
  }

  /** As it is. */
  @JCStressTest
  @Outcome(id = "3", expect = Expect.ACCEPTABLE, desc = "every batch once")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a batch lost or handed out twice")
  @State
  public static class Tagged {
    private final Batches batches = new Batches(1L << 32);

    @Actor
    public void one() {
      batches.takeAndGiveOne();
    }

    @Actor
    public void other() {
      batches.takeAndGiveTwo();
    }

    @Arbiter
    public void count(I_Result result) {
      result.r1 = batches.distinct();
    }
  }

  /** Without the tag, the pop swings the head to a batch that is in use. */
  @JCStressTest
  @Outcome(id = "3", expect = Expect.ACCEPTABLE, desc = "every batch once")
  @Outcome(expect = Expect.ACCEPTABLE_INTERESTING, desc = "a batch lost or handed out twice")
  @State
  public static class WithoutTag {
    private final Batches batches = new Batches(0);

    @Actor
    public void one() {
      batches.takeAndGiveOne();
    }

    @Actor
    public void other() {
      batches.takeAndGiveTwo();
    }

    @Arbiter
    public void count(I_Result result) {
      result.r1 = batches.distinct();
    }
  }
}
