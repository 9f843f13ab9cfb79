package io.rdma4j.pool.internal;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.I_Result;

/**
 * A pool of one block, one thread that wants it, and the maintenance that takes the block out of
 * caches, sorts lists, suspends the slab and gives its memory back: the thread is never refused.
 */
public final class PoolSearchStress {
  private PoolSearchStress() {}

  /** A clock on which everything has been idle for long at every look. */
  private static final class Hours {
    private final AtomicLong hours = new AtomicLong();

    long next() {
      return TimeUnit.HOURS.toNanos(hours.getAndIncrement());
    }
  }

  /** As it is. */
  @JCStressTest
  @Outcome(id = "1", expect = Expect.ACCEPTABLE, desc = "served")
  @Outcome(expect = Expect.FORBIDDEN, desc = "refused, although the block was free")
  @State
  public static class UserAndMaintenance {
    private static final BlockPool POOL = StressPools.create(1, new Hours()::next);

    @Actor
    public void user(I_Result result) {
      Magazine magazine = StressPools.own(POOL);
      long handle = POOL.take(0, magazine);
      if (handle != BlockHandle.NONE) {
        POOL.release(handle);
        result.r1 = 1;
      }
    }

    @Actor
    public void maintenance() {
      POOL.maintain();
    }
  }
}
