package io.rdma4j.transport;

import io.rdma4j.testkit.transport.RequestContract;

final class TcpRequestTest extends RequestContract {
  @Override
  protected String path() {
    return "tcp";
  }
}
