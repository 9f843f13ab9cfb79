package io.rdma4j.transport;

import io.rdma4j.testkit.transport.RemoteContract;
import io.rdma4j.testkit.verbs.ScriptedVerbs;

final class ScriptedVerbsRemoteTest extends RemoteContract {
  private final ScriptedVerbs verbs = ScriptedVerbs.onLoopback();

  @Override
  protected String path() {
    return "verbs";
  }

  @Override
  protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
    return super.configure(builder).verbs(verbs);
  }
}
