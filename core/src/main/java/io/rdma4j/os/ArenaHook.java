package io.rdma4j.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.Set;

/** Lets code run when an arena is closed, before the memory allocated from it so far is freed. */
public final class ArenaHook {
  /** Kinds of scopes that no one can close. A kind that is not known here can be closed. */
  private static final Set<Class<?>> LASTING_SCOPES =
      Set.of(
          MemorySegment.ofBuffer(ByteBuffer.allocateDirect(1)).scope().getClass(),
          Arena.global().scope().getClass(),
          Arena.ofAuto().scope().getClass());

  private ArenaHook() {}

  /** Returns true when someone can close the scope; its memory may go while it is in use. */
  public static boolean isClosable(MemorySegment.Scope scope) {
    return !LASTING_SCOPES.contains(scope.getClass());
  }

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
