package io.rdma4j.pool.internal;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/** Two threads take from one stripe that has a block for each. */
public final class StripeCacheStress {
  private StripeCacheStress() {}

  private static final class Stripe {
    final Blocks blocks = Blocks.next();
    final StripeCache cache =
        new StripeCache(Blocks.newPool(), Blocks.SLABS.states(), Blocks.PER_SAMPLE);
    long first;
    long second;

    Stripe() {
      cache.fill(blocks.batch(0, 2), 2);
    }

    /** Counts blocks taken and blocks left, and the takes that the stripe knows of. */
    void count(II_Result result) {
      Blocks.Count count = blocks.count();
      count.addLease(first);
      count.addLease(second);
      count.addChain(cache.drain(0));
      result.r1 = count.distinctOrMinusOne();
      result.r2 = (int) cache.takes();
    }
  }

  /** As it is. */
  @JCStressTest
  @Outcome(id = "2, 2", expect = Expect.ACCEPTABLE, desc = "a block each")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a block lost, or taken twice")
  @State
  public static class Locked {
    private final Stripe stripe = new Stripe();

    private long take() {
      stripe.cache.hold();
      try {
        return stripe.cache.take();
      } finally {
        stripe.cache.letGo();
      }
    }

    @Actor
    public void one() {
      stripe.first = take();
    }

    @Actor
    public void other() {
      stripe.second = take();
    }

    @Arbiter
    public void count(II_Result result) {
      stripe.count(result);
    }
  }

  /** Without the lock. */
  @JCStressTest
  @Outcome(id = "2, 2", expect = Expect.ACCEPTABLE, desc = "a block each")
  @Outcome(expect = Expect.ACCEPTABLE_INTERESTING, desc = "a block lost, or taken twice")
  @State
  public static class WithoutLock {
    private final Stripe stripe = new Stripe();

    @Actor
    public void one() {
      stripe.first = stripe.cache.take();
    }

    @Actor
    public void other() {
      stripe.second = stripe.cache.take();
    }

    @Arbiter
    public void count(II_Result result) {
      stripe.count(result);
    }
  }
}
