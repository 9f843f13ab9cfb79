package io.rdma4j.verbs.ffi;

import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;

/**
 * Native memory for calls off the data path: their out parameters, and the errno the last one left.
 *
 * <p>Everything allocated here is freed by {@link #close()}.
 */
final class Frame implements AutoCloseable {
  private static final StructLayout CAPTURE = Linker.Option.captureStateLayout();
  private static final long ERRNO =
      CAPTURE.byteOffset(StructLayout.PathElement.groupElement("errno"));

  private final Arena arena;
  private final MemorySegment captured;

  /** Creates a frame of the calling thread. */
  @SuppressWarnings("MustBeClosedChecker") // closed by close()
  Frame() {
    this(Arena.ofConfined());
  }

  private Frame(Arena arena) {
    this.arena = arena;
    captured = arena.allocate(CAPTURE);
  }

  /** Returns a frame for an object that several threads use, one at a time. */
  @SuppressWarnings("MustBeClosedChecker") // closed by close()
  static Frame shared() {
    return new Frame(Arena.ofShared());
  }

  MemorySegment captured() {
    return captured;
  }

  /** Returns errno as the last call left it; meaningful only when that call failed. */
  int errno() {
    return captured.get(ValueLayout.JAVA_INT, ERRNO);
  }

  /** Returns zeroed memory, aligned for any C type. */
  MemorySegment allocate(long bytes) {
    return arena.allocate(bytes, Long.BYTES);
  }

  @Override
  public void close() {
    arena.close();
  }
}
