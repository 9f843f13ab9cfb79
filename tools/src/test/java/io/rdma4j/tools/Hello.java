package io.rdma4j.tools;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.Reply;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/** A gateway asks a database. Here both run in one process; on two hosts the calls are the same. */
public final class Hello {
  private Hello() {}

  /** Uses the best of all paths. */
  public static void main(String[] args) {
    System.out.println(ask(7400, "shm", "verbs", "tcp"));
  }

  static String ask(int port, String... paths) {
    var address = new InetSocketAddress("localhost", port);
    // Runs on the poller of the database's node. A message is valid during this call only.
    ConnectionHandler echo =
        (connection, message) -> {
          long sent = message.reply(message.memory(), message.offset(), message.lengthBytes());
          if (sent < 0) {
            System.err.println("no reply sent: " + SendResult.nameOf(sent));
          }
        };
    var database = NodeConfig.builder().listen(address, (peer, path) -> echo).build();
    var gateway = NodeConfig.builder().paths(paths).build();
    try (Node databaseNode = Node.start(database);
        Node gatewayNode = Node.start(gateway);
        Connection connection = gatewayNode.connect(address, (from, message) -> {});
        RegisteredBuffer order = gatewayNode.pool().allocate(256)) {
      // The path says which one it is, and why none of those before it.
      System.out.println(databaseNode.listenAddress() + " by " + connection.path());
      order.segment().setString(0, "buy 100");
      // The buffer moves to the connection, which gives it back to the pool once it is sent.
      try (Reply reply = connection.request(order, TimeUnit.SECONDS.toNanos(5))) {
        return reply.payload().getString(0);
      }
    }
  }
}
