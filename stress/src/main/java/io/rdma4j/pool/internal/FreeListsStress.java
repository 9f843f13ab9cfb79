package io.rdma4j.pool.internal;

import static io.rdma4j.pool.internal.BlockLinks.NONE;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/** One thread takes and gives back batches while another turns the pairs of lists and sorts. */
public final class FreeListsStress {
  private static final int ROUNDS = 8;

  private FreeListsStress() {}

  /** As they are. */
  @JCStressTest
  @Outcome(id = "3", expect = Expect.ACCEPTABLE, desc = "every batch once")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a batch lost or there twice")
  @State
  public static class Sorted {
    private final Blocks blocks = Blocks.next();
    private final FreeLists lists = new FreeLists(Blocks.SLABS.links());

    public Sorted() {
      for (int i = 0; i < 3; i++) {
        lists.push(blocks.batch(i, 1));
      }
    }

    @Actor
    public void user() {
      for (int i = 0; i < ROUNDS; i++) {
        int batch = lists.pop();
        if (batch != NONE) {
          lists.push(batch);
        }
      }
    }

    @Actor
    public void sorter() {
      lists.turn();
      for (int batch = lists.popUnsorted(); batch != NONE; batch = lists.popUnsorted()) {
        lists.pushLast(batch);
      }
    }

    @Arbiter
    public void count(I_Result result) {
      Blocks.Count count = blocks.count();
      for (int batch = lists.pop(); batch != NONE; batch = lists.pop()) {
        count.addChain(batch);
      }
      result.r1 = count.distinctOrMinusOne();
    }
  }

  /** A pop that looks at the present pair only misses what was pushed late to the former one. */
  @JCStressTest
  @Outcome(id = "3", expect = Expect.ACCEPTABLE, desc = "every batch once")
  @Outcome(expect = Expect.ACCEPTABLE_INTERESTING, desc = "a batch lost")
  @State
  public static class PresentPairOnly {
    private final Blocks blocks = Blocks.next();
    private final SharedList[] lists = {
      new SharedList(Blocks.SLABS.links()), new SharedList(Blocks.SLABS.links())
    };
    private volatile int present;

    public PresentPairOnly() {
      for (int i = 0; i < 3; i++) {
        lists[0].push(blocks.batch(i, 1));
      }
    }

    @Actor
    public void user() {
      for (int i = 0; i < ROUNDS; i++) {
        int batch = lists[present].pop();
        if (batch != NONE) {
          lists[present].push(batch);
        }
      }
    }

    @Actor
    public void sorter() {
      present = 1;
      for (int batch = lists[0].pop(); batch != NONE; batch = lists[0].pop()) {
        lists[1].push(batch);
      }
    }

    @Arbiter
    public void count(I_Result result) {
      Blocks.Count count = blocks.count();
      for (int batch = lists[1].pop(); batch != NONE; batch = lists[1].pop()) {
        count.addChain(batch);
      }
      result.r1 = count.distinctOrMinusOne();
    }
  }
}
