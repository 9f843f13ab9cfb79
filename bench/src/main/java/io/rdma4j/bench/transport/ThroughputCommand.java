package io.rdma4j.bench.transport;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;

/** Streams and transactions. */
@Command(
    name = "throughput",
    description = "One-way streams in batches, large messages, requests with several under way.")
public final class ThroughputCommand extends TransportCommand {
  private static final int[] LENGTHS = {256, 512};
  private static final int[] BATCHES = {1, 4, 16, 64};
  static final Task LONG = Task.stream(64 * 1024, 1);
  static final Task SHORT = Task.stream(64, 16);
  private static final Task LARGE = Task.large(Link.MAX_LARGE_BYTES);
  private static final Task RPC = Task.transaction(64, 16);

  /** Created by picocli. */
  public ThroughputCommand() {}

  @Override
  List<Task> tasks() {
    List<Task> tasks = new ArrayList<>();
    for (int lengthBytes : LENGTHS) {
      for (int batch : BATCHES) {
        tasks.add(Task.stream(lengthBytes, batch));
      }
    }
    tasks.add(LONG);
    tasks.add(SHORT);
    tasks.add(LARGE);
    tasks.add(RPC);
    return tasks;
  }

  @Override
  List<Tool> tools() {
    return List.of(
        new Tool(LONG, "ibsendbw", "ib_send_bw"), new Tool(SHORT, "ibsendbw", "ib_send_bw"));
  }

  @Override
  boolean takesPart(Way way, Task task) {
    if (way.name().equals(NodeWay.REQUESTS)) {
      return task.equals(RPC);
    }
    if (task.equals(LONG) || task.equals(SHORT)) {
      return way.name().equals("verbs");
    }
    if (task.equals(LARGE)) {
      return takesPartInStreams(way)
          && !way.name().equals("aeron"); // its fragments are not put together here
    }
    return task.kind() == Task.Kind.STREAM
        ? takesPartInStreams(way)
        : super.takesPart(way, task) && !way.name().equals("socket_blocking");
  }

  @Override
  List<Figure> figures() {
    List<Figure> figures = new ArrayList<>();
    figures.add(Figure.time("bw64k_ibsendbw_vs_verbs", LONG, "ibsendbw", "verbs"));
    figures.add(Figure.time("msgrate_b16_ibsendbw_vs_verbs", SHORT, "ibsendbw", "verbs"));
    figures.add(Figure.time("large16m_shm_vs_socket", LARGE, "socket", "shm"));
    for (int lengthBytes : LENGTHS) {
      for (int batch : BATCHES) {
        figures.add(
            Figure.time(
                "tput" + lengthBytes + "_b" + batch + "_shm_vs_socket",
                Task.stream(lengthBytes, batch),
                "socket",
                "shm"));
      }
      figures.add(
          Figure.time(
              "tput" + lengthBytes + "_shm_vs_aeron",
              Task.stream(lengthBytes, 16),
              "aeron",
              "shm"));
      figures.add(
          Figure.time(
              "tput" + lengthBytes + "_shm64m_vs_aeron",
              Task.stream(lengthBytes, 16),
              "aeron",
              "shm64m"));
    }
    return figures;
  }

  @Override
  void quote(Map<String, Measured> rows, Result result) {
    Measured rpc = rows.get(RPC.key() + "_" + NodeWay.REQUESTS);
    if (rpc != null) {
      result.addNumber("rpc_w16_mops_shm", 1e3 / rpc.series().medianNs());
    } else {
      result.addMissing("rpc_w16_mops_shm", NodeWay.REQUESTS + " was not measured");
    }
  }
}
