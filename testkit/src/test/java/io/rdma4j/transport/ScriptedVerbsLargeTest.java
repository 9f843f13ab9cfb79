package io.rdma4j.transport;

import io.rdma4j.testkit.transport.LargeContract;
import io.rdma4j.testkit.verbs.ScriptedVerbs;

final class ScriptedVerbsLargeTest extends LargeContract {
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
