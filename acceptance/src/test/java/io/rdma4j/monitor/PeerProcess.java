package io.rdma4j.monitor;

import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Objects;

/** The main class of a peer that answers requests until it is killed, or its parent is gone. */
final class PeerProcess {
  private PeerProcess() {}

  /** A peer that runs, until it is killed. */
  record Running(Process process, int port) {
    void kill() {
      process.destroyForcibly();
    }
  }

  /** Starts one. */
  static Running start() throws IOException {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                whereIs(PeerProcess.class) + ":" + whereIs(Node.class),
                PeerProcess.class.getName())
            .redirectError(ProcessBuilder.Redirect.DISCARD)
            .start();
    String line = process.inputReader(StandardCharsets.US_ASCII).readLine();
    if (line == null) {
      process.destroyForcibly();
      throw new IOException("the peer did not start");
    }
    return new Running(process, Integer.parseInt(line.split(" ")[1]));
  }

  /** Test runners hide the class path. */
  private static Path whereIs(Class<?> type) {
    return Path.of(URI.create(type.getProtectionDomain().getCodeSource().getLocation().toString()));
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
