package io.rdma4j.pool.internal;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * The owner takes and gives with plain stores while another thread takes everything away, so that
 * the revocation strikes somewhere in a take or a give.
 */
public final class MagazineStress {
  private static final int BLOCKS = Blocks.PER_SAMPLE;

  /** Ends the owner's loop should the other actor not have begun. */
  private static final int MOST_ROUNDS = 1 << 22;

  private MagazineStress() {}

  /** As it is. */
  @JCStressTest
  @Outcome(
      id = "4, 0",
      expect = Expect.ACCEPTABLE,
      desc = "every block once, the owner stopped before it began")
  @Outcome(
      id = "4, 1",
      expect = Expect.ACCEPTABLE_INTERESTING,
      desc = "every block once, the owner stopped at work")
  @Outcome(expect = Expect.FORBIDDEN, desc = "a block lost or handed out twice")
  @State
  public static class Revoked {
    private final Blocks blocks = Blocks.next();
    private final Magazine magazine;
    private long lease;
    private int first;
    private int second;
    private int rounds;
    private volatile boolean done;

    public Revoked() {
      SizeClassPool pool = Blocks.newPool();
      ThreadCache cache =
          new ThreadCache(
              Thread.currentThread(),
              new Holders(),
              Blocks.SLABS.states(),
              new SizeClassPool[] {pool});
      magazine = cache.magazine(0);
      magazine.fill(blocks.batch(0, BLOCKS), BLOCKS);
    }

    @Actor
    public void owner() {
      for (int i = 0; i < MOST_ROUNDS && !done; i++) {
        long handle = magazine.take();
        if (handle == BlockHandle.NONE && !magazine.reopen()) {
          return;
        }
        if (handle != BlockHandle.NONE && !give(handle)) {
          lease = handle;
          return;
        }
        rounds = i;
      }
    }

    /** Opened again once, the magazine has room; revoked once more, the lease is left. */
    private boolean give(long handle) {
      return magazine.give(handle) || (magazine.reopen() && magazine.give(handle));
    }

    @Actor
    public void thief() {
      first = magazine.takeAll();
      second = magazine.takeAll();
      done = true;
    }

    @Arbiter
    public void count(II_Result result) {
      Blocks.Count count = blocks.count();
      count.addChain(first);
      count.addChain(second);
      count.addChain(magazine.takeAll());
      count.addLease(lease);
      result.r1 = count.distinctOrMinusOne();
      result.r2 = rounds == 0 ? 0 : 1;
    }
  }

  /** The same stack and the same steps, with nothing that stops the owner. */
  @JCStressTest
  @Outcome(id = "4, [01]", expect = Expect.ACCEPTABLE, desc = "every block once")
  @Outcome(expect = Expect.ACCEPTABLE_INTERESTING, desc = "a block lost or handed out twice")
  @State
  public static class WithoutRevocation {
    private final Blocks blocks = Blocks.next();
    private final int[] stack = new int[BLOCKS];
    private int count = BLOCKS;
    private int lease = BlockLinks.NONE;
    private final int[] taken = new int[BLOCKS];
    private int takenCount;
    private volatile boolean done;

    public WithoutRevocation() {
      for (int i = 0; i < BLOCKS; i++) {
        stack[i] = blocks.number(i);
      }
    }

    @Actor
    public void owner() {
      for (int i = 0; i < MOST_ROUNDS && !done; i++) {
        int top = count - 1;
        if (top < 0) {
          return;
        }
        int block = stack[top];
        count = top;
        if (done) {
          lease = block;
          return;
        }
        stack[count] = block;
        count++;
      }
    }

    @Actor
    public void thief() {
      takenCount = count;
      count = 0;
      System.arraycopy(stack, 0, taken, 0, takenCount);
      done = true;
    }

    @Arbiter
    public void count(II_Result result) {
      Blocks.Count found = blocks.count();
      for (int i = 0; i < takenCount; i++) {
        found.addBlock(taken[i]);
      }
      for (int i = 0; i < count; i++) {
        found.addBlock(stack[i]);
      }
      found.addBlock(lease);
      result.r1 = found.distinctOrMinusOne();
      result.r2 = lease == BlockLinks.NONE ? 0 : 1;
    }
  }
}
