package io.rdma4j.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * What this process holds at one moment, from /proc/self: to be compared after a round of work.
 *
 * @param openFiles open file descriptors
 * @param mappedRegions mapped memory regions; the virtual machine adds a few of its own now and
 *     then
 * @param threads live Java threads
 */
public record LeakCheck(int openFiles, int mappedRegions, int threads) {
  private static final long SETTLE_NS = 5_000_000_000L;

  /** Counts now. */
  public static LeakCheck now() {
    return new LeakCheck(
        count(Path.of("/proc/self/fd")),
        lines(Path.of("/proc/self/maps")),
        ManagementFactory.getThreadMXBean().getThreadCount());
  }

  /**
   * Asserts that the process is back to what it held here. Threads that are just ending get a few
   * seconds.
   *
   * @param regionTolerance mapped regions that the virtual machine may have added meanwhile
   * @throws AssertionError naming both counts
   */
  public void assertBackToBase(int regionTolerance) {
    if (!within(SETTLE_NS, () -> isBackToBase(now(), regionTolerance))) {
      throw new AssertionError("leak: before " + this + ", after " + now());
    }
  }

  private boolean isBackToBase(LeakCheck after, int regionTolerance) {
    return after.openFiles <= openFiles
        && after.threads <= threads
        && after.mappedRegions <= mappedRegions + regionTolerance;
  }

  private static boolean within(long timeoutNs, BooleanSupplier condition) {
    long startNs = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - startNs > timeoutNs) {
        return false;
      }
      LockSupport.parkNanos(10_000_000);
    }
    return true;
  }

  private static int count(Path directory) {
    try (Stream<Path> entries = Files.list(directory)) {
      return (int) entries.count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int lines(Path file) {
    try (Stream<String> lines = Files.lines(file)) {
      return (int) lines.count();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
