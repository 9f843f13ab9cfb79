package io.rdma4j.transport;

import io.rdma4j.testkit.transport.TransportContract;
import java.time.Duration;

/** A connection that may move keeps the whole contract while it does not. */
final class ResumableTcpTransportTest extends TransportContract {
  @Override
  protected String path() {
    return "tcp";
  }

  @Override
  protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
    return super.configure(builder).resume(Duration.ofSeconds(5), Duration.ofSeconds(1));
  }
}
