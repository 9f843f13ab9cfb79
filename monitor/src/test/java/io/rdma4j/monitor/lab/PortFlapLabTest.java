package io.rdma4j.monitor.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.status.EventKind;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * As {@link FaultsLabTest}, for a link that goes down and comes back. Runs behind all others: once
 * a disconnect has met a port that is down, the kernel's soft RoCE (6.1) sends no request of
 * rdma_cm any more, and taking the device away waits for them.
 */
@Tag("lab")
@Timeout(300)
final class PortFlapLabTest {
  @Test
  void aPortThatGoesDownAndUpIsALinkFlap() throws Exception {
    FaultScene scene = new FaultScene();
    try {
      scene.connect();
      long downNs = System.nanoTime();
      link("down");
      scene.expect("port down", downNs, "port-down", EventKind.PORT_ERR);
      long upNs = System.nanoTime();
      link("up");
      scene.expect("port up again", upNs, "link-flap", EventKind.PORT_ACTIVE);
    } finally {
      link("up");
      scene.close();
    }
  }

  private static void link(String state) throws Exception {
    Process process =
        new ProcessBuilder("ip", "link", "set", "v0", state).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), said);
  }
}
