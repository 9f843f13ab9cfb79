package io.rdma4j.pool.internal;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two threads release the same lease at the same time: one does, the other is refused. */
public final class ReleaseStress {
  private ReleaseStress() {}

  /** Returns 1 when the release was the one that counts. */
  private static int release(BlockPool pool, long handle) {
    try {
      pool.release(handle);
      return 1;
    } catch (IllegalStateException refused) {
      return 0;
    }
  }

  private static long await(LeaseOfSample sample) {
    long handle;
    while ((handle = sample.handle) == BlockHandle.NONE) {
      Thread.onSpinWait();
    }
    return handle;
  }

  /** A lease on its way from the thread that made it. */
  private static final class LeaseOfSample {
    private static int samples;

    volatile long handle;

    /** The way of the handle to the other thread takes a while, which differs. */
    private final int spins = samples++ * 7 % 512;

    void publish(long handle) {
      this.handle = handle;
      for (int i = 0; i < spins; i++) {
        Thread.onSpinWait();
      }
    }
  }

  /**
   * The owner releases with plain stores what it leased while exclusive; the stranger has to end
   * the exclusivity first. The last digit tells whether the lease was such a one.
   */
  @JCStressTest
  @Outcome(
      id = "1, 0, 1",
      expect = Expect.ACCEPTABLE_INTERESTING,
      desc = "an exclusive lease, the owner wins")
  @Outcome(
      id = "0, 1, 1",
      expect = Expect.ACCEPTABLE_INTERESTING,
      desc = "an exclusive lease, the stranger wins")
  @Outcome(
      id = {"1, 0, 0", "0, 1, 0"},
      expect = Expect.ACCEPTABLE,
      desc = "a shared lease, one wins")
  @Outcome(expect = Expect.FORBIDDEN, desc = "both or none released")
  @State
  public static class OwnerAndStranger {
    private final BlockPool pool = StressPools.next();
    private final LeaseOfSample sample = new LeaseOfSample();

    @Actor
    public void owner(III_Result result) {
      Magazine magazine = StressPools.own(pool);
      magazine.cache().makeExclusive();
      boolean exclusive = Holders.isOdd(magazine.cache().identity());
      long handle = magazine.take();
      if (handle == BlockHandle.NONE) {
        exclusive = false;
        handle = pool.takeSlow(0, magazine);
      }
      result.r3 = exclusive ? 1 : 0;
      sample.publish(handle);
      result.r1 = release(pool, handle);
    }

    @Actor
    public void stranger(III_Result result) {
      result.r2 = release(pool, await(sample));
    }
  }

  /** A lease of nobody's cache, as virtual threads make them: compare-and-set decides. */
  @JCStressTest
  @Outcome(
      id = {"1, 0", "0, 1"},
      expect = Expect.ACCEPTABLE_INTERESTING,
      desc = "one wins")
  @Outcome(expect = Expect.FORBIDDEN, desc = "both or none released")
  @State
  public static class TwoStrangers {
    private final BlockPool pool = StressPools.next();
    private final LeaseOfSample sample = new LeaseOfSample();

    @Actor
    public void one(II_Result result) {
      long handle = pool.take(0, null);
      sample.publish(handle);
      result.r1 = release(pool, handle);
    }

    @Actor
    public void other(II_Result result) {
      result.r2 = release(pool, await(sample));
    }
  }

  /** The owner looks and stores, the stranger compares and sets, and nothing stops the owner. */
  @JCStressTest
  @Outcome(
      id = {"1, 0", "0, 1"},
      expect = Expect.ACCEPTABLE,
      desc = "one wins")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "both released")
  @Outcome(expect = Expect.FORBIDDEN, desc = "none released")
  @State
  public static class WithoutRevocation {
    private final BlockStates states = Blocks.SLABS.states();
    private final int block = Blocks.next().number(0);
    private final long handle = states.lease(block, 0);
    private final long held = states.get(block);

    @Actor
    public void owner(II_Result result) {
      if (states.get(block) == held) {
        states.set(block, BlockHandle.next(handle));
        result.r1 = 1;
      }
    }

    @Actor
    public void stranger(II_Result result) {
      long state = states.get(block);
      if (state == held && states.compareAndSet(block, state, BlockHandle.next(handle))) {
        result.r2 = 1;
      }
    }
  }

  /** Both look and store. */
  @JCStressTest
  @Outcome(
      id = {"1, 0", "0, 1"},
      expect = Expect.ACCEPTABLE,
      desc = "one wins")
  @Outcome(id = "1, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "both released")
  @Outcome(expect = Expect.FORBIDDEN, desc = "none released")
  @State
  public static class WithoutCompareAndSet {
    private final BlockStates states = Blocks.SLABS.states();
    private final int block = Blocks.next().number(0);
    private final long handle = states.lease(block, 0);
    private final long held = states.get(block);

    private int release() {
      long state = states.get(block);
      if (state != held) {
        return 0;
      }
      states.set(block, BlockHandle.next(handle));
      return 1;
    }

    @Actor
    public void one(II_Result result) {
      result.r1 = release();
    }

    @Actor
    public void other(II_Result result) {
      result.r2 = release();
    }
  }
}
