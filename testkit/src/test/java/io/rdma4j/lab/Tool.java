package io.rdma4j.lab;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/** A command of the guest, its output collected as it runs; killed when closed. */
final class Tool implements AutoCloseable {
  private static final long LIMIT_SECONDS = 60;

  private final List<String> command;
  private final Process process;
  private final Queue<String> output = new ConcurrentLinkedQueue<>();
  private final CompletableFuture<Void> reader;

  private Tool(String... command) throws IOException {
    this.command = List.of(command);
    process = new ProcessBuilder(command).redirectErrorStream(true).start();
    reader = CompletableFuture.runAsync(this::collect, Thread::startVirtualThread);
  }

  private void collect() {
    try (var lines = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        output.add(line);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static Tool start(String... command) throws IOException {
    return new Tool(command);
  }

  /** Runs a command to its end and returns what it printed; it must exit with 0. */
  static String run(String... command) throws Exception {
    try (Tool tool = new Tool(command)) {
      int status = tool.awaitExit();
      if (status != 0) {
        throw new AssertionError(tool.command + " exits with " + status + ":\n" + tool.output());
      }
      return tool.output();
    }
  }

  String output() {
    return String.join("\n", output);
  }

  int awaitExit() throws Exception {
    if (!process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
      throw new AssertionError("still running after " + LIMIT_SECONDS + " s: " + output());
    }
    reader.get(LIMIT_SECONDS, TimeUnit.SECONDS);
    return process.exitValue();
  }

  /** Waits until this process has an rdma_cm identifier that listens on the port. */
  void awaitListening(int port) throws Exception {
    long deadlineNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(LIMIT_SECONDS);
    while (System.nanoTime() < deadlineNs) {
      if (run("rdma", "resource", "show", "cm_id")
          .lines()
          .anyMatch(line -> line.contains("LISTEN") && line.contains(":" + port))) {
        return;
      }
      Thread.sleep(200);
    }
    throw new AssertionError("nobody listens on port " + port + ": " + output());
  }

  @Override
  public void close() {
    if (process.isAlive()) {
      System.err.println("killed while it ran: " + command + "\n" + output());
    }
    process.destroyForcibly();
  }
}
