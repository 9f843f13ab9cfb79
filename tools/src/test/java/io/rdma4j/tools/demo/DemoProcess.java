package io.rdma4j.tools.demo;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The demo as a user starts it. Both processes write into one file, which outlives either: a pipe
 * would end with the gateway.
 */
final class DemoProcess implements AutoCloseable {
  private final Process process;
  private final Path output;

  DemoProcess(String... arguments) throws IOException {
    output = Files.createTempFile("rdma4j-demo", ".out");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), "io.rdma4j.tools.Main"));
    command.addAll(List.of(arguments));
    process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
  }

  Process process() {
    return process;
  }

  /** Returns the second process, the database node. */
  ProcessHandle databaseNode() {
    return process.children().findFirst().orElseThrow();
  }

  List<String> lines() throws IOException {
    return Files.readAllLines(output, StandardCharsets.UTF_8);
  }

  String text() throws IOException {
    return Files.readString(output);
  }

  void awaitLine(String part) throws IOException, InterruptedException {
    for (int waitMs = 0; waitMs < 30_000; waitMs += 10) {
      if (text().contains(part)) {
        return;
      }
      Thread.sleep(10);
    }
    throw new AssertionError("no line with '" + part + "' in " + text());
  }

  int exitStatus(long timeoutSeconds) throws IOException, InterruptedException {
    if (!process.waitFor(timeoutSeconds, TimeUnit.SECONDS)) {
      throw new AssertionError("still running after " + timeoutSeconds + " s: " + text());
    }
    return process.exitValue();
  }

  @Override
  public void close() throws IOException {
    process.descendants().forEach(ProcessHandle::destroyForcibly);
    process.destroyForcibly();
    Files.deleteIfExists(output);
  }
}
