package io.rdma4j.transport;

import io.rdma4j.testkit.transport.RemoteContract;

final class TcpRemoteTest extends RemoteContract {
  @Override
  protected String path() {
    return "tcp";
  }
}
