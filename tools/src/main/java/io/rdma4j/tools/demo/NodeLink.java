package io.rdma4j.tools.demo;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * The gateway's end over rdma4j: each order is written into a pooled, registered buffer that moves
 * to the connection. One thread sends and polls.
 */
final class NodeLink implements OrderLink {
  static final ValueLayout.OfLong BIG_ENDIAN_LONG =
      JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  private final Node node;
  private final Connection connection;
  private final RegisteredBuffer lease;
  private final Acks acks = new Acks();

  NodeLink(String path, InetSocketAddress address) {
    node = Node.start(DemoConfig.gateway(path));
    try {
      connection = node.connect(address, acks);
      lease = node.pool().newLease();
    } catch (RuntimeException e) {
      node.close();
      throw e;
    }
  }

  @Override
  public boolean offer(byte[] order, int length) throws IOException {
    if (!node.pool().tryAllocate(length, lease)) {
      return false;
    }
    lease.lengthBytes(length);
    MemorySegment.copy(order, 0, lease.segment(), JAVA_BYTE, 0, length);
    long result = connection.send(lease);
    if (result >= 0) {
      return true;
    }
    lease.release();
    if (result != SendResult.BACK_PRESSURED) {
      throw new IOException(acks.ended());
    }
    return false;
  }

  @Override
  public void progress() throws IOException {
    if (node.poll() == 0) {
      Thread.onSpinWait();
    }
    if (acks.failure != null) {
      throw new IOException(acks.ended());
    }
  }

  @Override
  public long acknowledged() {
    return acks.acknowledged;
  }

  @Override
  public long refused() {
    return acks.refused;
  }

  @Override
  public long misordered() {
    return acks.misordered;
  }

  @Override
  public String description() {
    return connection.path().description();
  }

  @Override
  public String device() {
    return connection.path().device();
  }

  @Override
  public double poolHitRate() {
    return node.pool().statistics().threadCacheHitRate();
  }

  @Override
  public void close() {
    node.close();
  }

  private static final class Acks implements ConnectionHandler {
    private long acknowledged;
    private long refused;
    private long misordered;
    private @Nullable EndpointFailure failure;

    @Override
    public void onMessage(Connection connection, Message message) {
      if (message.memory().get(BIG_ENDIAN_LONG, message.offset()) != acknowledged + refused) {
        misordered++;
      }
      if (message.memory().get(BIG_ENDIAN_LONG, message.offset() + 8) == OrderBook.ACCEPTED) {
        acknowledged++;
      } else {
        refused++;
      }
    }

    @Override
    public void onDisconnected(Connection connection, EndpointFailure reason) {
      failure = reason;
    }

    private String ended() {
      return failure == null ? "the connection is closing" : failure.message();
    }
  }
}
