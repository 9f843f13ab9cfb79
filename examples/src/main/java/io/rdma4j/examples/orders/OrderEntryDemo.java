package io.rdma4j.examples.orders;

import io.rdma4j.transport.NodeConfig;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Locale;

/**
 * Runs both order services in this process and sends each the same orders in turn, a block to one
 * and a block to the other.
 */
public final class OrderEntryDemo {
  private static final int BLOCK_ORDERS = 1_000;

  private OrderEntryDemo() {}

  /** Takes the number of orders for each service, and paths in order of preference. */
  public static void main(String[] args) throws IOException {
    int orders = args.length > 0 ? Integer.parseInt(args[0]) : 50_000;
    String[] paths =
        args.length > 1
            ? Arrays.copyOfRange(args, 1, args.length)
            : new String[] {"shm", "verbs", "tcp"};
    System.out.print(compare(orders, paths));
  }

  static String compare(int orders, String... paths) throws IOException {
    InetSocketAddress local = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    OrderBook socketBook = new OrderBook();
    OrderBook rdmaBook = new OrderBook();
    try (var socketService = new SocketOrderService(socketBook, local);
        var rdmaService = new RdmaOrderService(rdmaBook, NodeConfig.builder().paths(paths), local);
        var socketClient = new SocketOrderClient(socketService.address());
        var rdmaClient =
            new RdmaOrderClient(NodeConfig.builder().paths(paths), rdmaService.address())) {
      long[] socketNs = new long[orders];
      long[] rdmaNs = new long[orders];
      // The first pass warms both up alike.
      for (int pass = 0; pass < 2; pass++) {
        for (int from = 0; from < orders; from += BLOCK_ORDERS) {
          int to = Math.min(orders, from + BLOCK_ORDERS);
          submit(socketClient, socketNs, from, to);
          submit(rdmaClient, rdmaNs, from, to);
        }
      }
      return report(rdmaClient.path(), socketNs, rdmaNs);
    }
  }

  private static void submit(OrderEntry entry, long[] timesNs, int from, int to)
      throws IOException {
    for (int i = from; i < to; i++) {
      long startNs = System.nanoTime();
      long place = entry.submit(i, 100 + i % 7, 10);
      timesNs[i] = System.nanoTime() - startNs;
      if (place < 1) {
        throw new IllegalStateException("order " + i + " was refused");
      }
    }
  }

  private static String report(String path, long[] socketNs, long[] rdmaNs) {
    Arrays.sort(socketNs);
    Arrays.sort(rdmaNs);
    return line("socket", socketNs)
        + line("rdma4j", rdmaNs)
        + String.format(
            Locale.ROOT,
            "median of sockets / median of rdma4j: %.1f; path: %s%n",
            (double) median(socketNs) / median(rdmaNs),
            path);
  }

  private static String line(String name, long[] sortedNs) {
    return String.format(
        Locale.ROOT,
        "%-7s %,d orders, p50 %.2f us, p99 %.2f us%n",
        name,
        sortedNs.length,
        median(sortedNs) / 1e3,
        sortedNs[(int) (sortedNs.length * 0.99)] / 1e3);
  }

  private static long median(long[] sortedNs) {
    return sortedNs[sortedNs.length / 2];
  }
}
