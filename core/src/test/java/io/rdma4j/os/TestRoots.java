package io.rdma4j.os;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** Lays out recorded {@code /proc/self/limits} files as roots. */
public final class TestRoots {
  private TestRoots() {}

  /** Returns a root whose process has the locked-memory limit of that sample. */
  public static SystemRoot withLimits(String sample, Path directory) throws IOException {
    Path target = directory.resolve("proc/self/limits");
    Files.createDirectories(target.getParent());
    try (var in = TestRoots.class.getResourceAsStream("/limits/" + sample + "/proc/self/limits")) {
      Files.copy(in, target, StandardCopyOption.REPLACE_EXISTING);
    }
    return SystemRoot.at(directory);
  }
}
