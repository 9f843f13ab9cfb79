package io.rdma4j.lab;

import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SendList;
import io.rdma4j.verbs.Verbs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Measures a 64-byte ping-pong of two threads over the verbs interfaces, in turns with {@code
 * ib_send_lat}, and prints half of the typical round trip of both.
 *
 * <p>Arguments: rounds (5), iterations of a round (2000), warm-up iterations (20000).
 */
final class VerbsLatency {
  private static final String DEVICE = "rxe0";
  private static final int MESSAGE_BYTES = 64;

  /** Receives are given back in batches, off the critical path. */
  private static final int RECEIVE_BATCH = Loopback.DEPTH / 2;

  /** One send in so many asks for a completion, which frees the send queue up to it. */
  private static final int SIGNAL_INTERVAL = Loopback.DEPTH / 4;

  private static final int PORT = 18515;
  private static final double MAX_RATIO = 1.3;

  private VerbsLatency() {}

  /** Exits with 1 when the ratio of the medians exceeds 1.3. */
  public static void main(String[] args) throws Exception {
    int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 5;
    int iterations = args.length > 1 ? Integer.parseInt(args[1]) : 2000;
    int warmUp = args.length > 2 ? Integer.parseInt(args[2]) : 20000;
    double[] java = new double[rounds];
    double[] c = new double[rounds];
    try (Device device = Verbs.system().open(DEVICE);
        Loopback loopback = new Loopback(device);
        Player ping = new Player(loopback.a);
        Player pong = new Player(loopback.b)) {
      play(ping, pong, warmUp);
      int gidIndex = Loopback.ipv4GidIndex(device);
      for (int round = 0; round < rounds; round++) {
        c[round] = ibSendLat(gidIndex, iterations);
        java[round] = play(ping, pong, iterations);
        System.out.printf(
            "round %d: ib_send_lat %.2f us, java %.2f us%n", round + 1, c[round], java[round]);
      }
    }
    double ratio = median(java) / median(c);
    System.out.printf(
        "median of %d rounds: ib_send_lat %.2f us, java %.2f us, ratio %.2f (limit %.1f)%n",
        rounds, median(c), median(java), ratio, MAX_RATIO);
    System.exit(ratio <= MAX_RATIO ? 0 : 1);
  }

  /** Returns the median of half the round trip in microseconds. */
  private static double play(Player ping, Player pong, int iterations) throws Exception {
    CompletableFuture<Void> answers = new CompletableFuture<>();
    Thread.ofPlatform()
        .daemon()
        .start(
            () -> {
              try {
                pong.answer(iterations);
                answers.complete(null);
              } catch (RuntimeException e) {
                answers.completeExceptionally(e);
              }
            });
    double[] halfRoundTripsUs = ping.ask(iterations);
    answers.get(60, TimeUnit.SECONDS);
    return median(halfRoundTripsUs);
  }

  private static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  /** One thread's end. The loop posts prebuilt lists and allocates nothing. */
  private static final class Player implements AutoCloseable {
    private final Loopback.Side side;
    private final SendList signaled;
    private final SendList silent;
    private final ReceiveList receives = new ReceiveList(RECEIVE_BATCH, 1);
    private int sent;
    private int consumed;

    Player(Loopback.Side side) {
      this.side = side;
      signaled = message(SendList.SIGNALED | SendList.INLINE);
      silent = message(SendList.INLINE);
      for (int i = 0; i < RECEIVE_BATCH; i++) {
        receives.add(i).scatter(side.memory.address() + 4096, MESSAGE_BYTES, side.region.lkey());
      }
      postReceives();
      postReceives();
    }

    private SendList message(int flags) {
      SendList list = new SendList(1, 1);
      list.add(0, SendList.OP_SEND, flags)
          .gather(side.memory.address(), MESSAGE_BYTES, side.region.lkey());
      return list;
    }

    double[] ask(int iterations) {
      double[] halfRoundTripsUs = new double[iterations];
      for (int i = 0; i < iterations; i++) {
        long startNs = System.nanoTime();
        send();
        awaitMessage();
        halfRoundTripsUs[i] = (System.nanoTime() - startNs) / 2e3;
        giveBack();
      }
      return halfRoundTripsUs;
    }

    void answer(int iterations) {
      for (int i = 0; i < iterations; i++) {
        awaitMessage();
        send();
        giveBack();
      }
    }

    private void send() {
      SendList list = ++sent % SIGNAL_INTERVAL == 0 ? signaled : silent;
      if (side.queuePair.postSend(list) != 1) {
        throw new IllegalStateException("send refused, errno " + list.errno());
      }
    }

    private void awaitMessage() {
      Completions batch = side.batch;
      int messages = 0;
      while (messages == 0) {
        int polled = side.completionQueue.poll(batch);
        for (int i = 0; i < polled; i++) {
          if (batch.status(i) != Completions.SUCCESS) {
            throw new IllegalStateException(Completions.statusText(batch.status(i)));
          }
          messages += batch.opcode(i) >>> 7 & 1;
        }
      }
    }

    private void giveBack() {
      if (++consumed == RECEIVE_BATCH) {
        consumed = 0;
        postReceives();
      }
    }

    private void postReceives() {
      if (side.queuePair.postReceive(receives) != RECEIVE_BATCH) {
        throw new IllegalStateException("receive refused, errno " + receives.errno());
      }
    }

    @Override
    public void close() {
      signaled.close();
      silent.close();
      receives.close();
    }
  }

  /** Returns t_typical of perftest's ib_send_lat, which is half a round trip as well. */
  private static double ibSendLat(int gidIndex, int iterations) throws Exception {
    String[] server = {
      "ib_send_lat",
      "-d",
      DEVICE,
      "-x",
      gidIndex + "",
      "-s",
      MESSAGE_BYTES + "",
      "-n",
      iterations + "",
      "-p",
      PORT + ""
    };
    String[] client = Arrays.copyOf(server, server.length + 1);
    client[server.length] = "127.0.0.1";
    try (Tool listening = Tool.start(server)) {
      awaitListening(listening);
      String output = Tool.run(client);
      listening.awaitExit();
      for (String line : output.lines().toList()) {
        String[] columns = line.strip().split("\\s+", -1);
        if (columns.length > 5 && columns[0].equals(MESSAGE_BYTES + "")) {
          return Double.parseDouble(columns[4]);
        }
      }
      throw new IllegalStateException("no result line in:\n" + output);
    }
  }

  private static void awaitListening(Tool tool) throws IOException, InterruptedException {
    String listening = String.format(":%04X 0", PORT);
    for (int i = 0; i < 300; i++) {
      for (String table : new String[] {"/proc/net/tcp", "/proc/net/tcp6"}) {
        for (String line : Files.readAllLines(Path.of(table))) {
          if (line.contains(listening) && line.contains(" 0A ")) {
            return;
          }
        }
      }
      Thread.sleep(100);
    }
    throw new IllegalStateException("ib_send_lat does not listen: " + tool.output());
  }
}
