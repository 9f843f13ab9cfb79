package io.rdma4j.lab.pair;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** Commands that change the guest which this process is in. */
final class Guest {
  /** The interface that carries both RoCE and TCP between the guests. */
  private static final String INTERFACE = "eth0";

  private Guest() {}

  /** Packets that go out are treated like this from now on; see tc-netem(8). */
  static void netem(String... what) {
    run(concat(List.of("tc", "qdisc", "replace", "dev", INTERFACE, "root", "netem"), what));
  }

  /** Packets go out as they are again. */
  static void noNetem() {
    run(List.of("tc", "qdisc", "del", "dev", INTERFACE, "root"));
  }

  /**
   * Drops incoming UDP, and so RoCEv2, or takes it again; TCP goes through all the time. The rule
   * has to come before that of the local addresses, which is the first in a kernel as it starts.
   */
  static void dropUdp(boolean dropped) {
    if (dropped) {
      ipRule("add", "pref", "10", "lookup", "local");
      ipRule("add", "pref", "5", "iif", INTERFACE, "ipproto", "udp", "blackhole");
      ipRule("del", "pref", "0");
    } else {
      ipRule("add", "pref", "0", "lookup", "local");
      ipRule("del", "pref", "5");
      ipRule("del", "pref", "10");
    }
  }

  private static void ipRule(String... what) {
    run(concat(List.of("ip", "rule"), what));
  }

  /** Stops this process at once, and continues it later. */
  static void stopThisProcess(int seconds) {
    long pid = ProcessHandle.current().pid();
    String script = "kill -STOP %d; sleep %d; kill -CONT %d".formatted(pid, seconds, pid);
    try {
      new ProcessBuilder("sh", "-c", script).inheritIO().start();
    } catch (IOException e) {
      throw new IllegalStateException("this process can not be stopped: " + e.getMessage(), e);
    }
  }

  private static List<String> concat(List<String> start, String... end) {
    return Stream.concat(start.stream(), Arrays.stream(end)).toList();
  }

  private static void run(List<String> command) {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      int status = process.waitFor();
      if (status != 0) {
        throw new IllegalStateException(command + " exits with " + status + ": " + output);
      }
    } catch (IOException e) {
      throw new IllegalStateException(command + " can not be run: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while " + command + " ran", e);
    }
  }
}
