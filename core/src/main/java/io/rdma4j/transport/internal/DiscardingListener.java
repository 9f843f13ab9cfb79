package io.rdma4j.transport.internal;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import java.lang.foreign.MemorySegment;

/** Listener for endpoints that never carried a message: there is nothing to tell. */
enum DiscardingListener implements EndpointListener {
  INSTANCE;

  @Override
  public void onMessage(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {}

  @Override
  public void onSent(long token) {}

  @Override
  public void onFailure(EndpointFailure cause) {}
}
