package io.rdma4j.pool.internal;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Two threads find a class empty and ask for a slab at once: one slab is added, and both know when
 * it is there. The first number of a result is that of the slabs.
 */
public final class GrowthStress {
  private GrowthStress() {}

  /** As it is. */
  @JCStressTest
  @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "one slab, both served")
  @Outcome(expect = Expect.FORBIDDEN, desc = "two slabs, or somebody left without")
  @State
  public static class SingleFlight {
    private final Growth growth = new Growth(Blocks.WORKERS);
    private final AtomicInteger slabs = new AtomicInteger();

    private int grow() {
      CompletableFuture<Boolean> outcome =
          growth.request(
              0,
              () -> {
                slabs.getAndIncrement();
                return true;
              });
      return outcome == null || outcome.join() ? 1 : 0;
    }

    @Actor
    public void one(III_Result result) {
      result.r2 = grow();
    }

    @Actor
    public void other(III_Result result) {
      result.r3 = grow();
    }

    @Arbiter
    public void count(III_Result result) {
      result.r1 = slabs.get();
    }
  }

  /** Looks whether an attempt is under way, but not whether one has ended since the search. */
  @JCStressTest
  @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "one slab, both served")
  @Outcome(id = "2, 1, 1", expect = Expect.ACCEPTABLE_INTERESTING, desc = "two slabs")
  @State
  public static class WithoutLookAtCompleted {
    private final AtomicInteger slabs = new AtomicInteger();
    private volatile @Nullable CompletableFuture<Boolean> underWay;

    private synchronized CompletableFuture<Boolean> request() {
      CompletableFuture<Boolean> other = underWay;
      if (other != null) {
        return other;
      }
      CompletableFuture<Boolean> mine = new CompletableFuture<>();
      underWay = mine;
      Blocks.WORKERS.execute(
          () -> {
            slabs.getAndIncrement();
            underWay = null;
            mine.complete(true);
          });
      return mine;
    }

    @Actor
    public void one(III_Result result) {
      result.r2 = request().join() ? 1 : 0;
    }

    @Actor
    public void other(III_Result result) {
      result.r3 = request().join() ? 1 : 0;
    }

    @Arbiter
    public void count(III_Result result) {
      result.r1 = slabs.get();
    }
  }
}
