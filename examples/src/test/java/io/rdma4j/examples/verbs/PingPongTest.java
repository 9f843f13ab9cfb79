package io.rdma4j.examples.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.testkit.verbs.ScriptedVerbs;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
final class PingPongTest {
  @Test
  void everyMessageLiesInTheSameFewRegistrations() throws Exception {
    ScriptedVerbs verbs = new ScriptedVerbs();
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
    String report =
        PingPong.run(verbs, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 200);
    assertTrue(report.startsWith("200 round trips"), report);
    // 200 sends and as many receives, and those that are posted at the end.
    assertEquals(
        2, report.lines().filter(line -> line.contains(": 416 blocks used")).count(), report);
  }
}
