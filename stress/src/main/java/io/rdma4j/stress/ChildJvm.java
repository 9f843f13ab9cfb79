package io.rdma4j.stress;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** How this JVM starts others like itself. */
final class ChildJvm {
  private ChildJvm() {}

  /** Returns the command up to the main class. */
  static List<String> command(String... options) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "-XX:+UseSerialGC",
            "-cp",
            System.getProperty("java.class.path")));
    command.addAll(List.of(options));
    return command;
  }

  /**
   * Runs a command to its end.
   *
   * @throws IllegalStateException with its output when it fails or takes too long
   */
  static void run(List<String> command, Path log, long timeoutS)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
    try {
      if (!process.waitFor(timeoutS, TimeUnit.SECONDS)) {
        throw failed("took longer than " + timeoutS + " s", command, log);
      }
      if (process.exitValue() != 0) {
        throw failed("ended with " + process.exitValue(), command, log);
      }
    } finally {
      process.destroyForcibly();
    }
  }

  private static IllegalStateException failed(String how, List<String> command, Path log)
      throws IOException {
    return new IllegalStateException(
        "%s %s:%n%s".formatted(String.join(" ", command), how, Files.readString(log)));
  }
}
