package io.rdma4j.examples.orders;

import io.rdma4j.transport.Connection;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.Reply;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/** Orders over rdma4j: after. */
final class RdmaOrderClient implements OrderEntry {
  private static final long TIMEOUT_NS = TimeUnit.SECONDS.toNanos(10);

  private final Node node;
  private final Connection connection;
  private final Reply reply;
  private final MemorySegment order = Arena.ofAuto().allocate(OrderWire.ORDER_BYTES, Long.BYTES);

  RdmaOrderClient(NodeConfig.Builder config, InetSocketAddress service) {
    // The thread that waits for an answer polls for it: nobody has to wake it.
    node = Node.start(config.threading(Threading.INVOKER).build());
    try {
      connection = node.connect(service, (from, message) -> {});
    } catch (RuntimeException e) {
      node.close();
      throw e;
    }
    reply = connection.newReply();
  }

  @Override
  public long submit(long id, long priceTicks, int quantity) {
    OrderWire.writeOrder(order, id, priceTicks, quantity);
    connection.request(order, 0, OrderWire.ORDER_BYTES, TIMEOUT_NS, reply);
    try (reply) {
      return OrderWire.place(reply.memory(), id);
    }
  }

  /** Returns the path of the connection, and why the others are not used. */
  String path() {
    return connection.path().toString();
  }

  /** Closes the connection with its node. */
  @Override
  public void close() {
    node.close();
  }
}
