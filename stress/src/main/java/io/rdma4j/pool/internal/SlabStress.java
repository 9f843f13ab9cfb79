package io.rdma4j.pool.internal;

import io.rdma4j.os.HugePages;
import io.rdma4j.os.Mapping;
import io.rdma4j.pool.internal.SlabFactory.RegisteredMemory;
import java.util.List;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * A pending slab is wanted again and retired at the same time: the blocks are in the lists or gone,
 * and both threads know which. The last number of a result is that of the blocks in the lists.
 */
public final class SlabStress {
  private SlabStress() {}

  /** As it is. */
  @JCStressTest
  @Outcome(id = "1, 0, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "revived")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE_INTERESTING, desc = "retired")
  @Outcome(expect = Expect.FORBIDDEN, desc = "both, or neither")
  @State
  public static class ReviveAndRetire {
    private static final Mapping MEMORY =
        Mapping.anonymous(Mapping.pageSizeBytes(), HugePages.NONE, Mapping.Option.DONT_FORK);

    private final SizeClassPool pool = Blocks.newPool();
    private final Slab slab =
        new Slab(
            0,
            Blocks.next().number(0),
            0,
            pool.blockBytes(),
            true,
            RegisteredMemory.of(MEMORY, MEMORY.lengthBytes(), List.of(), NumaPolicy.UNKNOWN),
            new Heat(0, 0));

    public ReviveAndRetire() {
      pool.suspend(slab, 0);
    }

    @Actor
    public void user(III_Result result) {
      result.r1 = pool.revive() ? 1 : 0;
    }

    @Actor
    public void reaper(III_Result result) {
      result.r2 = pool.retire(slab) ? 1 : 0;
    }

    @Arbiter
    public void count(III_Result result) {
      result.r3 = (int) pool.freeBlocks();
    }
  }

  /** Both look at the state and store the next. */
  @JCStressTest
  @Outcome(id = "1, 0, 1", expect = Expect.ACCEPTABLE, desc = "revived")
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "retired")
  @Outcome(
      id = "1, 1, 1",
      expect = Expect.ACCEPTABLE_INTERESTING,
      desc = "blocks of a slab that is gone are handed out")
  @State
  public static class WithoutCompareAndSet {
    private volatile Slab.State state = Slab.State.PENDING;
    private volatile int freeBlocks;

    private boolean move(Slab.State to) {
      if (state != Slab.State.PENDING) {
        return false;
      }
      state = to;
      return true;
    }

    @Actor
    public void user(III_Result result) {
      if (move(Slab.State.ACTIVE)) {
        freeBlocks = 1;
        result.r1 = 1;
      }
    }

    @Actor
    public void reaper(III_Result result) {
      result.r2 = move(Slab.State.GONE) ? 1 : 0;
    }

    @Arbiter
    public void count(III_Result result) {
      result.r3 = freeBlocks;
    }
  }
}
