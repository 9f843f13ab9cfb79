package io.rdma4j.transport;

import io.rdma4j.testkit.transport.TransportContract;

final class ShmTransportTest extends TransportContract {
  @Override
  protected String path() {
    return "shm";
  }
}
