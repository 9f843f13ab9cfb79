package io.rdma4j.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** Lets code run when an arena is closed, before the memory allocated from it so far is freed. */
public final class ArenaHook {
  private ArenaHook() {}

  /**
   * Runs {@code action} on the thread that closes {@code arena}. An arena cleans up in reverse
   * order, so whatever was allocated before this call is still there.
   *
   * @throws IllegalStateException when the arena has been closed
   */
  @SuppressWarnings("restricted") // adds a clean-up action; the memory seen stays the same
  public static void atClose(Arena arena, MemorySegment segment, Runnable action) {
    segment.reinterpret(arena, ignored -> action.run());
  }
}
