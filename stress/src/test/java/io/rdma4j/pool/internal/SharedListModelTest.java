package io.rdma4j.pool.internal;

import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.reflect.Method;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jetbrains.kotlinx.lincheck.Actor;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Model checking: in every interleaving that Lincheck tries, the list behaves like a stack. */
@Timeout(120)
class SharedListModelTest {
  private static final int BATCHES = 3;

  @Test
  void isAStackWithTags() throws ReflectiveOperationException {
    options(Tagged.class).check(Tagged.class);
  }

  @Test
  void isNoStackWithoutTags() throws ReflectiveOperationException {
    ModelCheckingOptions options = options(WithoutTags.class);
    assertThrows(LincheckAssertionError.class, () -> options.check(WithoutTags.class));
  }

  /**
   * One scenario: a pop meets two pops and the return of the first batch, and another pop looks.
   */
  private static ModelCheckingOptions options(Class<?> list) throws ReflectiveOperationException {
    Method pop = list.getMethod("pop", int.class);
    Method giveBack = list.getMethod("giveBack", int.class);
    List<Actor> popper = List.of(actor(pop, 0), actor(pop, 0));
    List<Actor> churner = List.of(actor(pop, 1), actor(pop, 1), actor(giveBack, 1));
    return new ModelCheckingOptions()
        .addCustomScenario(
            new ExecutionScenario(List.of(), List.of(popper, churner), List.of(), null))
        .iterations(0)
        .invocationsPerIteration(1_000)
        .minimizeFailedScenario(false)
        .sequentialSpecification(Stack.class);
  }

  private static Actor actor(Method method, int thread) {
    return new Actor(method, List.of(thread));
  }

  /** What threads do: take batches, and give back the one they have had for longest. */
  private static final class Batches {
    private final BlockLinks links = new BlockLinks(2);
    private final SharedList list;
    private final List<Deque<Integer>> held = List.of(new ArrayDeque<>(), new ArrayDeque<>());

    Batches(long tagStep) {
      links.addSlab(0, BATCHES);
      list = new SharedList(links, tagStep);
      for (int batch = 0; batch < BATCHES; batch++) {
        push(batch);
      }
    }

    private void push(int batch) {
      links.setNext(batch, BlockLinks.NONE);
      links.setCount(batch, 1);
      list.push(batch);
    }

    int pop(int thread) {
      int batch = list.pop();
      if (batch != BlockLinks.NONE) {
        held.get(thread).add(batch);
      }
      return batch;
    }

    int giveBack(int thread) {
      Integer batch = held.get(thread).poll();
      if (batch == null) {
        return BlockLinks.NONE;
      }
      push(batch);
      return batch;
    }
  }

  /** As it is. */
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class Tagged {
    private final Batches batches = new Batches(1L << 32);

    @Operation
    public int pop(int thread) {
      return batches.pop(thread);
    }

    @Operation
    public int giveBack(int thread) {
      return batches.giveBack(thread);
    }
  }

  /** Broken. */
  @Param(name = "thread", gen = ThreadIdGen.class)
  public static class WithoutTags {
    private final Batches batches = new Batches(0);

    @Operation
    public int pop(int thread) {
      return batches.pop(thread);
    }

    @Operation
    public int giveBack(int thread) {
      return batches.giveBack(thread);
    }
  }

  /** What it should be like. */
  public static class Stack {
    private final Deque<Integer> stack = new ArrayDeque<>();
    private final List<Deque<Integer>> held = List.of(new ArrayDeque<>(), new ArrayDeque<>());

    public Stack() {
      for (int batch = 0; batch < BATCHES; batch++) {
        stack.push(batch);
      }
    }

    public int pop(int thread) {
      Integer batch = stack.poll();
      if (batch == null) {
        return BlockLinks.NONE;
      }
      held.get(thread).add(batch);
      return batch;
    }

    public int giveBack(int thread) {
      Integer batch = held.get(thread).poll();
      if (batch == null) {
        return BlockLinks.NONE;
      }
      stack.push(batch);
      return batch;
    }
  }
}
