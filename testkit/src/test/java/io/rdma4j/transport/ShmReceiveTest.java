package io.rdma4j.transport;

import io.rdma4j.testkit.transport.ReceiveContract;

final class ShmReceiveTest extends ReceiveContract {
  @Override
  protected String path() {
    return "shm";
  }

  @Override
  protected boolean handsOver() {
    return false;
  }
}
