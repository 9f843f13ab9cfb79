package io.rdma4j.verbs.ffi;

import org.jspecify.annotations.Nullable;

/** Runs steps that must all be tried, and throws the first failure with the others suppressed. */
final class Failures {
  private @Nullable RuntimeException first;

  void attempt(Runnable step) {
    try {
      step.run();
    } catch (RuntimeException e) {
      if (first == null) {
        first = e;
      } else {
        first.addSuppressed(e);
      }
    }
  }

  void throwIfAny() {
    if (first != null) {
      throw first;
    }
  }
}
