package io.rdma4j.monitor;

import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Path;
import java.util.Objects;

/** The main class of a peer that answers requests until it is killed, or its parent is gone. */
final class PeerProcess {
  private PeerProcess() {}

  /** Starts one. */
  static Process start() throws IOException {
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            whereIs(PeerProcess.class) + ":" + whereIs(Node.class),
            PeerProcess.class.getName())
        .redirectError(ProcessBuilder.Redirect.DISCARD)
        .start();
  }

  /** Test runners hide the class path. */
  private static Path whereIs(Class<?> type) {
    return Path.of(URI.create(type.getProtectionDomain().getCodeSource().getLocation().toString()));
  }

  /** Returns where one that was just started listens. */
  static InetSocketAddress addressOf(Process peer) throws IOException {
    String line = peer.inputReader().readLine();
    if (line == null) {
      throw new IOException("the peer did not start");
    }
    return ShownNode.loopback(Integer.parseInt(line.split(" ")[1]));
  }

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
