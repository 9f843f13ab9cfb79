package io.rdma4j.transport;

import io.rdma4j.testkit.transport.TransportContract;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import java.net.InetAddress;
import java.time.Duration;

/** A connection that may move keeps the whole contract while it does not. */
final class ResumableVerbsTransportTest extends TransportContract {
  private final ScriptedVerbs verbs = new ScriptedVerbs();

  ResumableVerbsTransportTest() {
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
  }

  @Override
  protected String path() {
    return "verbs";
  }

  @Override
  protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
    return super.configure(builder)
        .verbs(verbs)
        .resume(Duration.ofSeconds(5), Duration.ofSeconds(1));
  }
}
