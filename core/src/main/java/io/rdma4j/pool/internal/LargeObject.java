package io.rdma4j.pool.internal;

import java.util.function.Consumer;

/**
 * One large object in its life. Its fields are guarded by the monitor of {@link LargeCache}, but
 * for {@link #forgotten}.
 *
 * <pre>
 *           release           idle               idle for longer, or evicted
 *  LEASED -----------&gt; IDLE -------&gt; PENDING ----------------------------------&gt; GONE
 *     ^                 |            |                                            ^
 *     +-----------------+------------+                                            |
 *     |  allocated again                                                          |
 *     +---------------------------------------------------------------------------+
 *        its registration failed, or the pool is closed
 * </pre>
 *
 * A GONE object that is still held keeps its memory, out of every device's reach, until its holder
 * lets go.
 */
public final class LargeObject {
  /** Where an object is in its life. */
  enum State {
    LEASED,
    IDLE,
    PENDING,
    GONE
  }

  private final SegmentedMemory memory;
  private final SegmentWork work;
  State state;

  /** Whether a caller has it, in whatever state. */
  boolean held;

  /** Whether all devices have forgotten it; written under its own monitor. */
  volatile boolean forgotten;

  /** The size that the present holder asked for, rounded. */
  long askedBytes;

  /** When the state began that it is in. */
  long sinceNs;

  /**
   * Creates an object whose registration is not begun.
   *
   * @param state LEASED or IDLE
   * @param atEnd called once, when no worker has to do with it any more
   */
  LargeObject(
      SegmentedMemory memory,
      State state,
      long askedBytes,
      long nowNs,
      Workers workers,
      Consumer<LargeObject> atEnd) {
    this.memory = memory;
    this.work = new SegmentWork(memory, workers, () -> atEnd.accept(this));
    this.state = state;
    this.held = state == State.LEASED;
    this.askedBytes = askedBytes;
    this.sinceNs = nowNs;
  }

  /** Returns its memory and keys. */
  public SegmentedMemory memory() {
    return memory;
  }

  SegmentWork work() {
    return work;
  }

  long lengthBytes() {
    return memory.lengthBytes();
  }

  boolean isCached() {
    return state == State.IDLE || state == State.PENDING;
  }

  /** Returns true when no worker will touch the memory any more. */
  boolean isAtRest() {
    return memory.isWhole() || work.isOver();
  }
}
