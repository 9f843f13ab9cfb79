package io.rdma4j.transport;

import io.rdma4j.testkit.transport.TransportContract;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import java.net.InetAddress;

/** The contract with receives that the peers of a device share. */
final class SharedVerbsTransportTest extends TransportContract {
  private final ScriptedVerbs verbs = new ScriptedVerbs();

  SharedVerbsTransportTest() {
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
  }

  @Override
  protected String path() {
    return "verbs";
  }

  @Override
  protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
    return super.configure(builder).verbs(verbs).sharedReceives(128);
  }
}
