package io.rdma4j.examples.orders;

import io.rdma4j.SendResult;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.Objects;

/** The order service over rdma4j: after. One polling thread for all clients. */
final class RdmaOrderService implements AutoCloseable {
  private final OrderBook book;
  private final Node node;

  RdmaOrderService(OrderBook book, NodeConfig.Builder config, InetSocketAddress address) {
    this.book = book;
    node = Node.start(config.listen(address, (peer, path) -> new Client()).build());
  }

  InetSocketAddress address() {
    return Objects.requireNonNull(node.listenAddress());
  }

  /** One client; called by the polling thread alone. */
  private final class Client implements ConnectionHandler {
    private final MemorySegment answer =
        Arena.ofAuto().allocate(OrderWire.ANSWER_BYTES, Long.BYTES);

    @Override
    public void onMessage(Connection connection, Message message) {
      OrderWire.answer(book, message.memory(), message.offset(), answer);
      // A client has one order under way, so there is room for the answer unless it is gone.
      long sent = message.reply(answer, 0, OrderWire.ANSWER_BYTES);
      if (sent < 0) {
        System.err.println("no answer to " + connection + ": " + SendResult.nameOf(sent));
      }
    }
  }

  @Override
  public void close() {
    node.close();
  }
}
