package io.rdma4j.tools.demo;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** The demo as a user starts it: a process whose output lines are collected. */
final class DemoProcess implements AutoCloseable {
  private final Process process;
  private final List<String> lines = new CopyOnWriteArrayList<>();
  private final CompletableFuture<Void> reader;

  DemoProcess(String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), "io.rdma4j.tools.Main"));
    command.addAll(List.of(arguments));
    process = new ProcessBuilder(command).redirectErrorStream(true).start();
    reader =
        CompletableFuture.runAsync(
            () -> process.inputReader(StandardCharsets.UTF_8).lines().forEach(lines::add),
            task -> Thread.ofVirtual().start(task));
  }

  Process process() {
    return process;
  }

  /** Returns the second process, the database node. */
  ProcessHandle databaseNode() {
    return process.children().findFirst().orElseThrow();
  }

  List<String> lines() {
    return lines;
  }

  void awaitLine(String part) throws InterruptedException {
    for (int waitMs = 0; waitMs < 30_000; waitMs += 10) {
      if (lines.stream().anyMatch(line -> line.contains(part))) {
        return;
      }
      Thread.sleep(10);
    }
    throw new AssertionError("no line with '" + part + "' in " + lines);
  }

  int exitStatus(long timeoutSeconds) throws InterruptedException {
    if (!process.waitFor(timeoutSeconds, TimeUnit.SECONDS)) {
      throw new AssertionError("still running after " + timeoutSeconds + " s: " + lines);
    }
    reader.orTimeout(10, TimeUnit.SECONDS).exceptionally(e -> null).join();
    return process.exitValue();
  }

  @Override
  public void close() {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
  }
}
