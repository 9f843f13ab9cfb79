package io.rdma4j.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Programs of the system: run to their end, or in the background until closed. */
final class Tool implements AutoCloseable {
  private static final long LIMIT_S = 120;

  private final Process process;
  private final Path log;

  private Tool(Process process, Path log) {
    this.process = process;
    this.log = log;
  }

  /** Skips the test unless the program is there. */
  static void require(String program, String debianPackage) {
    boolean there =
        List.of(System.getenv("PATH").split(":")).stream()
            .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    assumeTrue(there, "no " + program + " here; install it: apt-get install " + debianPackage);
  }

  /** Runs a program and returns its exit status; {@code output} takes what it said. */
  static int run(StringBuilder output, @Nullable Path input, String... command)
      throws IOException, InterruptedException {
    Path said = Files.createTempFile("rdma4j-tool", ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile());
    if (input != null) {
      builder.redirectInput(input.toFile());
    }
    Process process = builder.start();
    try {
      assertTrue(process.waitFor(LIMIT_S, TimeUnit.SECONDS), String.join(" ", command) + " hangs");
      output.append(Files.readString(said));
      return process.exitValue();
    } finally {
      process.destroyForcibly();
      Files.delete(said);
    }
  }

  /** Runs a program that has to succeed. */
  static String check(String... command) throws IOException, InterruptedException {
    StringBuilder output = new StringBuilder();
    int status = run(output, null, command);
    assertEquals(0, status, () -> String.join(" ", command) + ":\n" + output);
    return output.toString();
  }

  /** Starts a program whose output goes to a file. */
  static Tool start(Path log, String... command) throws IOException {
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    return new Tool(process, log);
  }

  boolean isAlive() {
    return process.isAlive();
  }

  String said() {
    try {
      return Files.readString(log);
    } catch (IOException e) {
      return "its log can not be read: " + e;
    }
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(20, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
