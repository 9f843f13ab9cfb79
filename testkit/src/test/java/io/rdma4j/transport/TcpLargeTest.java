package io.rdma4j.transport;

import io.rdma4j.testkit.transport.LargeContract;

final class TcpLargeTest extends LargeContract {
  @Override
  protected String path() {
    return "tcp";
  }
}
