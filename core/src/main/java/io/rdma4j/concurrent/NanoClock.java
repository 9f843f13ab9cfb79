package io.rdma4j.concurrent;

/** A source of monotonic time, so that tests can move it by hand. */
@FunctionalInterface
public interface NanoClock {
  /** The clock of the machine. */
  NanoClock SYSTEM = System::nanoTime;

  /** Returns nanoseconds since an arbitrary origin; compare by difference only. */
  long nanoTime();
}
