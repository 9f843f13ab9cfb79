package io.rdma4j.testkit.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A handler that keeps copies of what arrives. Safe for use by several threads. */
public final class Mailbox implements ConnectionHandler {
  private final BlockingQueue<byte[]> messages = new LinkedBlockingQueue<>();
  private final CountDownLatch connected = new CountDownLatch(1);
  private final CountDownLatch disconnected = new CountDownLatch(1);
  private volatile @Nullable Connection connection;
  private volatile @Nullable EndpointFailure reason;

  /** Creates an empty mailbox. */
  public Mailbox() {}

  @Override
  public void onConnected(Connection connection) {
    this.connection = connection;
    connected.countDown();
  }

  @Override
  public void onMessage(Connection connection, Message message) {
    messages.add(message.payload().toArray(JAVA_BYTE));
  }

  @Override
  public void onDisconnected(Connection connection, EndpointFailure reason) {
    this.reason = reason;
    disconnected.countDown();
  }

  /** Waits for the next message. */
  public byte[] take() throws InterruptedException {
    byte[] message = messages.poll(10, TimeUnit.SECONDS);
    if (message == null) {
      throw new AssertionError("no message within 10 s; ended: " + reason);
    }
    return message;
  }

  /** Returns how many messages wait. */
  public int size() {
    return messages.size();
  }

  /** Waits for the connection. */
  public Connection connection() throws InterruptedException {
    if (!connected.await(10, TimeUnit.SECONDS)) {
      throw new AssertionError("not connected within 10 s");
    }
    return java.util.Objects.requireNonNull(connection);
  }

  /** Waits for the end of the connection. */
  public EndpointFailure ended() throws InterruptedException {
    if (!disconnected.await(15, TimeUnit.SECONDS)) {
      throw new AssertionError("still connected after 15 s");
    }
    return java.util.Objects.requireNonNull(reason);
  }
}
