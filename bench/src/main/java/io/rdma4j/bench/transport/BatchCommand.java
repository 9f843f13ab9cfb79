package io.rdma4j.bench.transport;

import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;

/** The rate of a stream by the size of its batches. */
@Command(
    name = "batch",
    description = "The rate of a 512 byte stream by the messages between two flushes, 1 to 128.")
public final class BatchCommand extends TransportCommand {
  private static final int LENGTH_BYTES = 512;
  private static final int MAX_BATCH = 128;

  /** Created by picocli. */
  public BatchCommand() {}

  @Override
  List<Task> tasks() {
    List<Task> tasks = new ArrayList<>();
    for (int batch = 1; batch <= MAX_BATCH; batch *= 2) {
      tasks.add(Task.stream(LENGTH_BYTES, batch));
    }
    return tasks;
  }

  @Override
  boolean takesPart(Way way, Task task) {
    return takesPartInStreams(way);
  }

  @Override
  List<Figure> figures() {
    List<Figure> figures = new ArrayList<>();
    for (Task task : tasks()) {
      figures.add(
          Figure.time("batch512_b" + task.depth() + "_shm_vs_socket", task, "socket", "shm"));
    }
    return figures;
  }
}
