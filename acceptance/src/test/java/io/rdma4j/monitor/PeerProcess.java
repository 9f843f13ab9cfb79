package io.rdma4j.monitor;

import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.io.IOException;
import java.util.Objects;

/** The main class of a peer that answers requests until it is killed, or its parent is gone. */
final class PeerProcess {
  private PeerProcess() {}

  public static void main(String[] args) throws IOException {
    ConnectionHandler echo =
        new ConnectionHandler() {
          @Override
          public void onMessage(Connection from, Message message) {
            if (message.isRequest()) {
              message.reply(message.payload(), 0, message.lengthBytes());
            }
          }
        };
    try (Node node =
        Node.start(
            NodeConfig.builder().listen(ShownNode.loopback(0), (from, path) -> echo).build())) {
      System.out.println("listening " + Objects.requireNonNull(node.listenAddress()).getPort());
      while (System.in.read() >= 0) {
        // Ends with its parent, whose pipe this is.
      }
    }
  }
}
