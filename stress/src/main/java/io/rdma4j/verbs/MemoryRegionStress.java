package io.rdma4j.verbs;

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
 * A work request names a region while its owner closes it. The device forgets the memory once, and
 * never while a request is posted.
 */
public final class MemoryRegionStress {
  private MemoryRegionStress() {}

  /** A region at no device, which counts. */
  private static final class CountedRegion extends MemoryRegion {
    private final AtomicInteger deregistrations = new AtomicInteger();

    CountedRegion() {
      super(0, 4096, 1, 1);
    }

    @Override
    protected void deregister() {
      deregistrations.getAndIncrement();
    }

    /** Posts and completes a request; 0 refused, 1 done, 2 when the memory went under it. */
    int use() {
      if (!retain()) {
        return 0;
      }
      int outcome = deregistrations.get() == 0 ? 1 : 2;
      release();
      return outcome;
    }
  }

  /** One user and the owner; the numbers are use, deregistrations, use after all. */
  @JCStressTest
  @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE_INTERESTING, desc = "closed before the use")
  @Outcome(id = "1, 1, 0", expect = Expect.ACCEPTABLE_INTERESTING, desc = "used before the close")
  @Outcome(expect = Expect.FORBIDDEN, desc = "forgotten in use, twice, never, or used when closed")
  @State
  public static class UserAndOwner {
    private final CountedRegion region = new CountedRegion();

    @Actor
    public void user(III_Result result) {
      result.r1 = region.use();
    }

    @Actor
    public void owner() {
      region.close();
    }

    @Arbiter
    public void count(III_Result result) {
      result.r2 = region.deregistrations.get();
      result.r3 = region.use();
    }
  }

  /** A request completes while two threads close. */
  @JCStressTest
  @Outcome(id = "1, 0", expect = Expect.ACCEPTABLE, desc = "forgotten once")
  @Outcome(expect = Expect.FORBIDDEN, desc = "forgotten twice, never, or used when closed")
  @State
  public static class LastUserAndTwoClosers {
    private final CountedRegion region = new CountedRegion();

    public LastUserAndTwoClosers() {
      region.retain();
    }

    @Actor
    public void userThenCloser() {
      region.release();
      region.close();
    }

    @Actor
    public void closer() {
      region.close();
    }

    @Arbiter
    public void count(II_Result result) {
      result.r1 = region.deregistrations.get();
      result.r2 = region.use();
    }
  }

  /** A user that looks first and counts itself then. */
  @JCStressTest
  @Outcome(id = "[01], 1", expect = Expect.ACCEPTABLE, desc = "forgotten once, not in use")
  @Outcome(id = "2, [12]", expect = Expect.ACCEPTABLE_INTERESTING, desc = "forgotten in use")
  @Outcome(id = "1, 2", expect = Expect.ACCEPTABLE, desc = "forgotten twice")
  @State
  public static class LookThenCount {
    private final AtomicInteger references = new AtomicInteger(1);
    private final AtomicInteger deregistrations = new AtomicInteger();

    private void release() {
      if (references.decrementAndGet() == 0) {
        deregistrations.getAndIncrement();
      }
    }

    @Actor
    public void user(II_Result result) {
      if (references.get() == 0) {
        return;
      }
      references.getAndIncrement();
      result.r1 = deregistrations.get() == 0 ? 1 : 2;
      release();
    }

    @Actor
    public void owner() {
      release();
    }

    @Arbiter
    public void count(II_Result result) {
      result.r2 = deregistrations.get();
    }
  }
}
