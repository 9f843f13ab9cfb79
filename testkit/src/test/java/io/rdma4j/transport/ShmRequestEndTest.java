package io.rdma4j.transport;

import io.rdma4j.testkit.transport.RequestEndContract;

final class ShmRequestEndTest extends RequestEndContract {
  @Override
  protected String path() {
    return "shm";
  }
}
