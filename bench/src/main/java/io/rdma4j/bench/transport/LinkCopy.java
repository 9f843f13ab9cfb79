package io.rdma4j.bench.transport;

import static java.lang.invoke.MethodType.methodType;

import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.util.Objects;

/**
 * Makes a copy of a loop's class for each link: a hidden class, which has code and profile of its
 * own, and whose link is a constant. Calls of the link are direct then, for every way alike.
 */
final class LinkCopy {
  private LinkCopy() {}

  /** Returns an instance of a copy of {@code loop}, which has a constructor without parameters. */
  static <T> T of(Class<T> face, Class<? extends T> loop, Link link) {
    try (InputStream file = loop.getResourceAsStream(loop.getSimpleName() + ".class")) {
      byte[] bytes = Objects.requireNonNull(file, loop.getName()).readAllBytes();
      MethodHandles.Lookup copy =
          MethodHandles.lookup().defineHiddenClassWithClassData(bytes, link, true);
      return face.cast(copy.findConstructor(copy.lookupClass(), methodType(void.class)).invoke());
    } catch (IOException | ReflectiveOperationException e) {
      throw new AssertionError("cannot copy " + loop, e);
    } catch (Throwable e) {
      throw new IllegalStateException("cannot create a copy of " + loop, e);
    }
  }

  /** Returns the link of the copy that asks. */
  static Link link(MethodHandles.Lookup copy) {
    try {
      return Objects.requireNonNull(MethodHandles.classData(copy, "_", Link.class));
    } catch (IllegalAccessException e) {
      throw new AssertionError(copy + " has no full access to itself", e);
    }
  }
}
