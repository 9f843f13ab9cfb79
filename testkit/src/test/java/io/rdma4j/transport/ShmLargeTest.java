package io.rdma4j.transport;

import io.rdma4j.testkit.transport.LargeContract;

final class ShmLargeTest extends LargeContract {
  @Override
  protected String path() {
    return "shm";
  }
}
