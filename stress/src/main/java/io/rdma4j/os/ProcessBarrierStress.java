package io.rdma4j.os;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.II_Result;

/**
 * Two threads each write a word and read the other's: one at least has to see the other's write,
 * though one of them puts no barrier in between.
 */
public final class ProcessBarrierStress {
  private static final VarHandle HOT;
  private static final VarHandle RARE;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      HOT = lookup.findVarHandle(Words.class, "hot", int.class);
      RARE = lookup.findVarHandle(Words.class, "rare", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private ProcessBarrierStress() {}

  /** What the two write. */
  static class Words {
    int hot;
    int rare;

    final int writeHotReadRare() {
      HOT.setOpaque(this, 1);
      return (int) RARE.getAcquire(this);
    }

    final void writeRare() {
      RARE.setOpaque(this, 1);
    }

    final int readHot() {
      return (int) HOT.getAcquire(this);
    }
  }

  /** As it is. */
  @JCStressTest
  @Outcome(
      id = {"0, 1", "1, 0", "1, 1"},
      expect = Expect.ACCEPTABLE,
      desc = "one has seen the other")
  @Outcome(expect = Expect.FORBIDDEN, desc = "neither has seen the other")
  @State
  public static class Barrier extends Words {
    @Actor
    public void hot(II_Result result) {
      result.r1 = writeHotReadRare();
    }

    @Actor
    public void rare(II_Result result) {
      writeRare();
      ProcessBarrier.run();
      result.r2 = readHot();
    }
  }

  /** As it is where the kernel has no such barrier. */
  @JCStressTest
  @Outcome(
      id = {"0, 1", "1, 0", "1, 1"},
      expect = Expect.ACCEPTABLE,
      desc = "one has seen the other")
  @Outcome(expect = Expect.FORBIDDEN, desc = "neither has seen the other")
  @State
  public static class Handshake extends Words {
    @Actor
    public void hot(II_Result result) {
      result.r1 = writeHotReadRare();
    }

    @Actor
    public void rare(II_Result result) {
      writeRare();
      ProcessBarrier.handshake();
      result.r2 = readHot();
    }
  }

  /** Without any barrier. */
  @JCStressTest
  @Outcome(
      id = {"0, 1", "1, 0", "1, 1"},
      expect = Expect.ACCEPTABLE,
      desc = "one has seen the other")
  @Outcome(id = "0, 0", expect = Expect.ACCEPTABLE_INTERESTING, desc = "neither has seen the other")
  @State
  public static class WithoutBarrier extends Words {
    @Actor
    public void hot(II_Result result) {
      result.r1 = writeHotReadRare();
    }

    @Actor
    public void rare(II_Result result) {
      writeRare();
      result.r2 = readHot();
    }
  }
}
