package io.rdma4j.transport;

import io.rdma4j.testkit.transport.ReceiveContract;

final class TcpReceiveTest extends ReceiveContract {
  @Override
  protected String path() {
    return "tcp";
  }

  @Override
  protected boolean handsOver() {
    return false;
  }
}
