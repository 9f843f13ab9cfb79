package io.rdma4j.transport;

import io.rdma4j.testkit.transport.StreamContract;

final class ShmStreamTest extends StreamContract {
  @Override
  protected String path() {
    return "shm";
  }
}
