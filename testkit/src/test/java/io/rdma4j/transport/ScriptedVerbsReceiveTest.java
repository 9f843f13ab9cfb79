package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.testkit.transport.ReceiveContract;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import java.net.InetAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;

/**
 * Receiving over the scripted device, with receives of each connection's own and with shared ones.
 */
final class ScriptedVerbsReceiveTest {
  @Nested
  final class Own extends OverVerbs {
    Own() {
      super(0);
    }
  }

  @Nested
  final class Shared extends OverVerbs {
    Shared() {
      super(64);
    }
  }

  abstract static class OverVerbs extends ReceiveContract {
    private final ScriptedVerbs verbs = new ScriptedVerbs();
    private final int sharedReceives;

    OverVerbs(int sharedReceives) {
      this.sharedReceives = sharedReceives;
      verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
    }

    @Override
    protected String path() {
      return "verbs";
    }

    @Override
    protected boolean handsOver() {
      return true;
    }

    @Override
    protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
      return super.configure(builder).verbs(verbs).sharedReceives(sharedReceives);
    }

    @AfterEach
    void everyMessageFoundAReceive() {
      assertEquals(0, verbs.ledger().receiverNotReady());
    }
  }
}
