package io.rdma4j.bench.transport;

import io.rdma4j.bench.Progress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Command;

/** What a transaction costs both processes in CPU, and what waiting costs. */
@Command(
    name = "cpu",
    description = "CPU of both processes for a transaction, and of a node that has nothing to do.")
public final class CpuCommand extends TransportCommand {
  private static final int[] WINDOWS = {1, 4, 16, 64};

  /** Created by picocli. */
  public CpuCommand() {}

  @Override
  List<Task> tasks() {
    List<Task> tasks = new ArrayList<>();
    for (int window : WINDOWS) {
      tasks.add(Task.transaction(64, window));
    }
    return tasks;
  }

  @Override
  List<Figure> figures() {
    List<Figure> figures = new ArrayList<>();
    for (int window : WINDOWS) {
      Task task = Task.transaction(64, window);
      figures.add(Figure.cpu("cpu_w" + window + "_socket_vs_shm", task, "socket", "shm"));
      figures.add(
          Figure.cpu("cpu_w" + window + "_socket_blocking_vs_shm", task, "socket_blocking", "shm"));
    }
    return figures;
  }

  @Override
  void measureAlone(Result result, Progress progress) throws IOException {
    progress.show("a node with nothing to do");
    result.addNumber("idle_core_percent", IdleNodes.corePercent(5));
  }
}
