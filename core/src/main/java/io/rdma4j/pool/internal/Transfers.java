package io.rdma4j.pool.internal;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts batches of one class on their way between caches and shared list, so that a search that
 * found nothing can tell whether blocks were moving past it.
 *
 * <pre>
 *  63                            32 31                             0
 * +--------------------------------+--------------------------------+
 * | transfers begun                | transfers under way            |
 * +--------------------------------+--------------------------------+
 * </pre>
 */
final class Transfers {
  private static final long BEGIN = (1L << 32) + 1;
  private static final long UNDER_WAY_MASK = 0xffff_ffffL;

  private final AtomicLong state = new AtomicLong();

  /** Announces a transfer, before its blocks leave where they are. */
  void begin() {
    state.getAndAdd(BEGIN);
  }

  /** Ends a transfer, after its blocks have arrived. */
  void end() {
    state.getAndAdd(-1);
  }

  /** Returns a mark for {@link #isQuietSince}. */
  long mark() {
    return state.get();
  }

  /** Returns true when no transfer was under way at the mark and none has begun since. */
  boolean isQuietSince(long mark) {
    return (mark & UNDER_WAY_MASK) == 0 && state.get() == mark;
  }
}
