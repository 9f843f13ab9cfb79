package io.rdma4j.os;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** A second way to memory, which ends with an arena while the memory stays. */
public final class ScopedView {
  private ScopedView() {}

  /**
   * Returns a view of some memory that belongs to an arena: its threads alone may use the view, and
   * once it is closed every access fails.
   *
   * @param memory native; whoever makes the view sees to it that this outlives the arena
   */
  @SuppressWarnings("restricted")
  public static MemorySegment of(MemorySegment memory, Arena arena) {
    return MemorySegment.ofAddress(memory.address()).reinterpret(memory.byteSize(), arena, null);
  }
}
