package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.junit.jupiter.api.Test;

final class ProcessIdentityTest {
  @Test
  void knowsTheLivingFromTheDead() throws IOException {
    ProcessIdentity self = ProcessIdentity.current();
    assertEquals(ProcessHandle.current().pid(), self.pid());
    assertTrue(self.isAlive());
    assertFalse(new ProcessIdentity(self.pid(), self.startTicks() + 1).isAlive());
    assertFalse(new ProcessIdentity(1L << 40, 1).isAlive());
    assertFalse(new ProcessIdentity(-1, 1).isAlive());
  }

  @Test
  void hostIdentityIsStable() throws IOException {
    assertEquals(HostIdentity.current(), HostIdentity.current());
    assertTrue(HostIdentity.current().pidNamespace() > 0);
  }
}
