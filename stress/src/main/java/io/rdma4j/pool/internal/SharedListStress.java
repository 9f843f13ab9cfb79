package io.rdma4j.pool.internal;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** A pop meets two pops and a push: the head it read comes back, the batch below it does not. */
public final class SharedListStress {
  private SharedListStress() {}

  /** Three batches in a list, and who has taken them. */
  private static final class Batches {
    final Blocks blocks = Blocks.next();
    final SharedList list;
    int popped;
    int kept;

    Batches(long tagStep) {
      list = new SharedList(Blocks.SLABS.links(), tagStep);
      for (int i = 0; i < 3; i++) {
        list.push(blocks.batch(i, 1));
      }
    }

    void pop() {
      popped = list.pop();
    }

    void popTwoPushFirst() {
      int first = list.pop();
      kept = list.pop();
      list.push(first);
    }

    int distinct() {
      Blocks.Count count = blocks.count();
      count.addBlock(popped);
      count.addBlock(kept);
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
    public void popper() {
      batches.pop();
    }

    @Actor
    public void churner() {
      batches.popTwoPushFirst();
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
    public void popper() {
      batches.pop();
    }

    @Actor
    public void churner() {
      batches.popTwoPushFirst();
    }

    @Arbiter
    public void count(I_Result result) {
      result.r1 = batches.distinct();
    }
  }
}
