package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.DeviceAttributes;
import io.rdma4j.verbs.PortAttributes;
import io.rdma4j.verbs.ProtectionDomain;
import org.jspecify.annotations.Nullable;

/**
 * A scripted device as one of its openers sees it: events of queue pairs and shared receive queues
 * reach the opener they belong to and nobody else, as with a context of libibverbs.
 */
final class ScriptedContext implements Device {
  private final ScriptedDevice device;
  private boolean closed;

  ScriptedContext(ScriptedDevice device) {
    this.device = device;
  }

  @Override
  public String name() {
    return device.name();
  }

  @Override
  public DeviceAttributes attributes() {
    return device.attributes();
  }

  @Override
  public PortAttributes port(int port) {
    return device.port(port);
  }

  @Override
  public byte[] gid(int port, int index) {
    return device.gid(port, index);
  }

  @Override
  public ProtectionDomain allocateProtectionDomain() {
    return device.allocateProtectionDomain(this);
  }

  @Override
  public CompletionChannel createCompletionChannel() {
    return device.createCompletionChannel();
  }

  @Override
  public CompletionQueue createCompletionQueue(
      int entries, @Nullable CompletionChannel channel, int completionVector) {
    return device.createCompletionQueue(entries, channel, completionVector);
  }

  @Override
  public @Nullable AsyncEvent pollAsyncEvent() {
    return device.pollAsyncEvent(this);
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      device.close();
    }
  }

  @Override
  public String toString() {
    return device.toString();
  }
}
