package io.rdma4j.monitor.lab;

import static java.util.Objects.requireNonNull;

import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.ExportedRegion;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.RegionDescriptor;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * The peer of a test, in a process of its own that can be killed. It answers a request with the
 * descriptor of a region that it exports, and does what it is told on its standard input.
 */
final class FaultyPeer {
  /** It posts no receive from now on. */
  static final String WITHHOLD_RECEIVES = "withhold-receives";

  /** Its queue pairs are destroyed, and nobody is told. */
  static final String LOSE_QUEUE_PAIRS = "lose-queue-pairs";

  static final int REGION_BYTES = 4096;
  private static final String DONE = "done";

  private final Process process;
  private final BufferedReader answers;
  private final InetSocketAddress address;

  /** Starts a peer that listens on an address. */
  FaultyPeer(String host) throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    process =
        new ProcessBuilder(
                java,
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                FaultyPeer.class.getName(),
                host)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    answers = process.inputReader(StandardCharsets.US_ASCII);
    address = new InetSocketAddress(InetAddress.getByName(host), Integer.parseInt(answer()));
  }

  private String answer() throws IOException {
    return requireNonNull(answers.readLine(), "the peer has ended");
  }

  InetSocketAddress address() {
    return address;
  }

  /** Has it do something, and waits until that is done. */
  void tell(String order) throws IOException {
    OutputStream orders = process.getOutputStream();
    orders.write((order + "\n").getBytes(StandardCharsets.US_ASCII));
    orders.flush();
    String said = answer();
    if (!said.equals(DONE)) {
      throw new IOException("told to " + order + " the peer says " + said);
    }
  }

  /** Kills it, as kill -9 does. */
  void kill() {
    process.destroyForcibly();
  }

  void close() throws Exception {
    kill();
    if (!process.waitFor(60, TimeUnit.SECONDS)) {
      throw new AssertionError("a killed process is still there");
    }
  }

  // ---- the process ------------------------------------------------------------------------------

  private static final class Answering implements ConnectionHandler {
    private final MemorySegment descriptor =
        MemorySegment.ofArray(new byte[RegionDescriptor.BYTES]);

    @Override
    public void onMessage(Connection from, Message message) {
      if (message.isRequest()) {
        message.reply(descriptor, 0, RegionDescriptor.BYTES);
      }
    }
  }

  /** Ends with its parent, whose pipe the orders come from. */
  public static void main(String[] args) throws Exception {
    FaultyVerbs verbs = new FaultyVerbs();
    Answering answering = new Answering();
    InetSocketAddress any = new InetSocketAddress(InetAddress.getByName(args[0]), 0);
    try (Arena arena = Arena.ofShared();
        Node node =
            Node.start(FaultScene.config(verbs).listen(any, (peer, path) -> answering).build());
        ExportedRegion region =
            node.export(arena.allocate(REGION_BYTES, 4096), MemoryAccess.REMOTE_READ);
        BufferedReader orders =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII))) {
      region.descriptor().write(answering.descriptor, 0);
      System.out.println(requireNonNull(node.listenAddress()).getPort());
      for (String order; (order = orders.readLine()) != null; ) {
        switch (order) {
          case WITHHOLD_RECEIVES -> verbs.withholdReceives(true);
          case LOSE_QUEUE_PAIRS -> verbs.loseQueuePairs();
          default -> throw new IllegalArgumentException("an order that is not known: " + order);
        }
        System.out.println(DONE);
      }
    }
  }
}
