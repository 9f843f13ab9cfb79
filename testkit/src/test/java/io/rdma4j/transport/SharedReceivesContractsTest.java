package io.rdma4j.transport;

import io.rdma4j.testkit.transport.LargeContract;
import io.rdma4j.testkit.transport.RemoteContract;
import io.rdma4j.testkit.transport.TransportContract;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import org.junit.jupiter.api.Nested;

/** The contracts of connections, with receives that the peers of a device share. */
final class SharedReceivesContractsTest {
  @Nested
  final class Messages extends TransportContract {
    private final ScriptedVerbs verbs = ScriptedVerbs.onLoopback();

    @Override
    protected String path() {
      return "verbs";
    }

    @Override
    protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
      return super.configure(builder).verbs(verbs).sharedReceives(128);
    }
  }

  @Nested
  final class Remote extends RemoteContract {
    private final ScriptedVerbs verbs = ScriptedVerbs.onLoopback();

    @Override
    protected String path() {
      return "verbs";
    }

    @Override
    protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
      return super.configure(builder).verbs(verbs).sharedReceives(128);
    }
  }

  @Nested
  final class Large extends LargeContract {
    private final ScriptedVerbs verbs = ScriptedVerbs.onLoopback();

    @Override
    protected String path() {
      return "verbs";
    }

    @Override
    protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
      return super.configure(builder).verbs(verbs).sharedReceives(128);
    }
  }
}
