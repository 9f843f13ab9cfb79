package io.rdma4j.bench.pool;

import static java.lang.invoke.MethodType.methodType;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.util.Objects;

/**
 * Makes a copy of a loop's class for each rival.
 *
 * <p>If all rivals went through one copy of the code, its calls would have many targets, which the
 * compiler can not inline, and the faster a rival the more of its time would be that of the call. A
 * hidden class has code and profile of its own, and its rival is a constant. It can not be named,
 * so a loop must not have lambdas that use {@code this}.
 */
final class LoopCopy {
  private LoopCopy() {}

  static Loop of(Class<? extends Loop> pattern, Rival<?> rival, int sizeBytes) {
    try (InputStream file = pattern.getResourceAsStream(pattern.getSimpleName() + ".class")) {
      byte[] bytes = Objects.requireNonNull(file, pattern.getName()).readAllBytes();
      MethodHandles.Lookup copy =
          MethodHandles.lookup().defineHiddenClassWithClassData(bytes, rival, true);
      return (Loop)
          copy.findConstructor(copy.lookupClass(), methodType(void.class, int.class))
              .invoke(sizeBytes);
    } catch (IOException | ReflectiveOperationException e) {
      throw new AssertionError("cannot copy " + pattern, e);
    } catch (Throwable e) {
      throw new IllegalStateException("cannot create a copy of " + pattern, e);
    }
  }

  /** Returns the rival of the copy that asks. */
  @SuppressWarnings("unchecked") // a loop stores in slots only what the same rival made
  static Rival<Object> rival(MethodHandles.Lookup copy) {
    try {
      return (Rival<Object>)
          Objects.requireNonNull(MethodHandles.classData(copy, "_", Rival.class));
    } catch (IllegalAccessException e) {
      throw new AssertionError(copy + " has no full access to itself", e);
    }
  }
}
