package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.provider.Provider;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.testkit.provider.ProviderContract;
import java.net.InetAddress;

/** The verbs provider under the contract suite, on a scripted device. */
final class ScriptedVerbsProviderTest extends ProviderContract {
  private final ScriptedVerbs verbs = new ScriptedVerbs();

  ScriptedVerbsProviderTest() {
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
  }

  @Override
  protected Provider createProvider() {
    return new VerbsProvider(verbs);
  }

  @Override
  protected void assertNothingLeft() {
    verbs.ledger().assertNothingLeft();
    assertEquals(0, verbs.ledger().receiverNotReady(), "messages that found no receive");
    assertEquals(0, verbs.ledger().stalePosts());
  }
}
