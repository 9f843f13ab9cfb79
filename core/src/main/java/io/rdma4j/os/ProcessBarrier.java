package io.rdma4j.os;

import java.lang.foreign.Arena;

/**
 * A full memory barrier in all threads of the process, paid for by the one that asks.
 *
 * <p>For protocols where one side is hot and the other rare: two threads each write a word and then
 * read the other's, and one of them at least must see the other's write. That takes a barrier
 * between the write and the read on both sides. With this one, the hot side needs none but program
 * order in the compiled code, which opaque and stronger accesses have in HotSpot.
 *
 * <p>Linux does it by an interrupt to the processors that run threads of the process
 * (membarrier(2), {@code MEMBARRIER_CMD_PRIVATE_EXPEDITED}, since 4.14): some microseconds. Where
 * the kernel refuses, a shared arena is closed, which has every Java thread pass a handshake: some
 * tens of microseconds.
 *
 * <p>Safe for use by several threads.
 */
public final class ProcessBarrier {
  private static final int PRIVATE_EXPEDITED = 1 << 3;
  private static final int REGISTER_PRIVATE_EXPEDITED = 1 << 4;

  private static final boolean MEMBARRIER = LibC.membarrier(REGISTER_PRIVATE_EXPEDITED) >= 0;

  private ProcessBarrier() {}

  /** Returns when every thread has passed a full barrier since the call. */
  public static void run() {
    if (!MEMBARRIER || LibC.membarrier(PRIVATE_EXPEDITED) < 0) {
      handshake();
    }
  }

  static void handshake() {
    try (Arena _ = Arena.ofShared()) {
      // Closing is what is wanted.
    }
  }

  /** Returns how it is done, for reports. */
  public static String method() {
    return MEMBARRIER ? "membarrier(2)" : "handshake of Java threads";
  }
}
