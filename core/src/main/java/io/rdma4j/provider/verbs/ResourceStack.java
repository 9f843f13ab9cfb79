package io.rdma4j.provider.verbs;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Owns what was made in one set-up and gives it back in reverse order, all of it, even when giving
 * back some of it fails.
 *
 * <p>Single thread only.
 */
final class ResourceStack implements AutoCloseable {
  private final Deque<AutoCloseable> resources = new ArrayDeque<>();

  /** Takes ownership. */
  <T extends AutoCloseable> T own(T resource) {
    resources.push(resource);
    return resource;
  }

  /** Gives back everything; idempotent. The first failure is thrown, others suppressed in it. */
  @Override
  public void close() {
    RuntimeException failure = null;
    while (!resources.isEmpty()) {
      AutoCloseable resource = resources.pop();
      try {
        resource.close();
      } catch (Exception e) {
        if (failure == null) {
          failure =
              e instanceof RuntimeException unchecked ? unchecked : new IllegalStateException(e);
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    if (failure != null) {
      throw failure;
    }
  }
}
