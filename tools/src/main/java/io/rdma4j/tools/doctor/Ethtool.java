package io.rdma4j.tools.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Runs {@code ethtool -S}, where it is installed. */
final class Ethtool {
  private static final List<Path> PLACES =
      List.of(Path.of("/usr/sbin/ethtool"), Path.of("/sbin/ethtool"), Path.of("/usr/bin/ethtool"));

  /** A healthy driver answers in milliseconds; one that hangs must not hang the doctor. */
  private static final long TIMEOUT_SECONDS = 5;

  private Ethtool() {}

  /** Returns what it prints, null when it is not installed or does not answer. */
  static @Nullable String statistics(String netdev) {
    Path program = PLACES.stream().filter(Files::isExecutable).findFirst().orElse(null);
    return program == null || netdev.startsWith("-") ? null : run(program.toString(), netdev);
  }

  /** The output goes to a file, since a reader of a pipe waits for as long as the program does. */
  static @Nullable String run(String program, String netdev) {
    try {
      Path output = Files.createTempFile("rdma4j-ethtool", ".txt");
      try {
        Process process =
            new ProcessBuilder(program, "-S", netdev)
                .redirectOutput(output.toFile())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        process.getOutputStream().close();
        return endsWell(process) ? Files.readString(output) : null;
      } finally {
        Files.delete(output);
      }
    } catch (IOException notToBeRun) {
      return null;
    }
  }

  private static boolean endsWell(Process process) {
    try {
      return process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      process.destroyForcibly();
    }
  }
}
