package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Provider;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.testkit.provider.ProviderContract;
import java.net.InetAddress;
import org.junit.jupiter.api.Nested;

/** The contract at the edges of flow control: windows so small that every credit counts. */
final class SmallWindowProviderTest {
  @Nested
  final class One extends Windowed {
    One() {
      super(1);
    }
  }

  @Nested
  final class Three extends Windowed {
    Three() {
      super(3);
    }
  }

  abstract static class Windowed extends ProviderContract {
    private final ScriptedVerbs verbs = new ScriptedVerbs();
    private final int window;

    Windowed(int window) {
      this.window = window;
      verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
    }

    @Override
    protected Provider createProvider() {
      return new VerbsProvider(verbs);
    }

    @Override
    protected EndpointConfig config() {
      return new EndpointConfig(100, window, 400);
    }

    @Override
    protected int manyMessages() {
      return 20_000;
    }

    @Override
    protected void assertNothingLeft() {
      verbs.ledger().assertNothingLeft();
      assertEquals(0, verbs.ledger().receiverNotReady(), "messages that found no receive");
    }
  }
}
