package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** That it is one is shown by stress cases; here, that it is the cheap one on Linux. */
class ProcessBarrierTest {
  private static final int PRIVATE_EXPEDITED = 1 << 3;

  @Test
  void theKernelDoesItWhereItCan() {
    // Registers the process, without which the kernel refuses.
    ProcessBarrier.run();
    boolean can = LibC.membarrier(PRIVATE_EXPEDITED) >= 0;
    assertEquals(can, ProcessBarrier.method().startsWith("membarrier"));
  }

  @Test
  void anUnknownCommandIsRefused() {
    assertTrue(LibC.membarrier(1 << 30) < 0);
  }

  @Test
  void theOtherWayReturns() {
    ProcessBarrier.handshake();
  }
}
