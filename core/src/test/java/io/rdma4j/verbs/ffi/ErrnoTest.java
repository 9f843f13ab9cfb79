package io.rdma4j.verbs.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.VerbsException;
import org.junit.jupiter.api.Test;

final class ErrnoTest {
  @Test
  void namesNumberAndText() {
    assertEquals("EINVAL 22, invalid argument", Errno.describe(Errno.EINVAL));
    assertEquals("errno 4711", Errno.describe(4711));
  }

  @Test
  void putsCallSubjectErrnoAndHintInThisOrder() {
    VerbsException e = Errno.failure("rdma_listen", Errno.EADDRINUSE, "on /10.0.0.1:7");
    assertEquals(
        "rdma_listen: on /10.0.0.1:7: EADDRINUSE 98, address already in use;"
            + " another identifier listens there; choose another port",
        e.getMessage());
    assertEquals("rdma_listen", e.call());
    assertEquals(98, e.errno());
  }

  @Test
  void leavesOutAMissingHint() {
    assertEquals("x: y: EIO 5, input/output error", Errno.failure("x", 5, "y").getMessage());
  }
}
