package io.rdma4j.tools.serve;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The processes that send requests to the serving node. One that ends is started anew after {@value
 * #REST_NS} ns. Closing ends them all. Thread-safe.
 */
final class Peers implements AutoCloseable {
  private static final long REST_NS = 5_000_000_000L;
  private static final long LOOK_NS = 200_000_000L;
  private static final long PARTING_NS = 3_000_000_000L;
  private static final long PARTING_LOOK_NS = 10_000_000L;

  private final List<String> command;
  private final PrintWriter err;
  private final @Nullable Process[] peers;
  private final long[] endedNs;
  private volatile boolean closed;

  /** Starts {@code count} processes that send {@code rate} requests a second each to a node. */
  Peers(int count, String node, int rate, PrintWriter err) throws IOException {
    this.err = err;
    command = commandLine(node, rate);
    peers = new Process[count];
    endedNs = new long[count];
    try {
      for (int i = 0; i < count; i++) {
        peers[i] = start();
      }
    } catch (IOException e) {
      close();
      throw e;
    }
    Thread.ofPlatform().daemon().name("rdma4j-peers").start(this::keep);
  }

  private static List<String> commandLine(String node, int rate) {
    List<String> line = new ArrayList<>();
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    line.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    line.add("-Xmx64m");
    String modules = System.getProperty("jdk.module.path");
    if (modules != null) {
      line.addAll(List.of("-p", modules, "-m", "io.rdma4j.tools/io.rdma4j.tools.Main"));
    } else {
      line.addAll(List.of("-cp", System.getProperty("java.class.path"), "io.rdma4j.tools.Main"));
    }
    line.addAll(List.of("serve-peer", node, "--rate", Integer.toString(rate)));
    return line;
  }

  private Process start() throws IOException {
    return new ProcessBuilder(command)
        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
        .redirectError(ProcessBuilder.Redirect.DISCARD)
        .start();
  }

  private void keep() {
    while (!closed) {
      LockSupport.parkNanos(this, LOOK_NS);
      long nowNs = System.nanoTime();
      for (int i = 0; i < peers.length; i++) {
        look(i, nowNs);
      }
    }
  }

  private synchronized void look(int i, long nowNs) {
    Process peer = peers[i];
    if (closed || peer == null || peer.isAlive()) {
      return;
    }
    if (endedNs[i] == 0) {
      endedNs[i] = nowNs;
      err.println("peer " + peer.pid() + " ended, status " + peer.exitValue());
    } else if (nowNs - endedNs[i] >= REST_NS) {
      try {
        Process next = start();
        peers[i] = next;
        endedNs[i] = 0;
        err.println("peer " + next.pid() + " started");
      } catch (IOException e) {
        endedNs[i] = nowNs;
        err.println("a peer can not be started: " + e.getMessage());
      }
    }
  }

  private synchronized Process alive() {
    for (Process peer : peers) {
      if (peer != null && peer.isAlive()) {
        return peer;
      }
    }
    throw new IllegalStateException("no peer is running now; they are started anew in a moment");
  }

  /** Kills a peer and returns its process id. */
  long kill() {
    Process peer = alive();
    peer.destroyForcibly();
    return peer.pid();
  }

  /** Stops a peer for a while and returns its process id. */
  long stop(int seconds) {
    Process peer = alive();
    signal("STOP", peer);
    Thread.ofVirtual()
        .start(
            () -> {
              LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(seconds));
              signal("CONT", peer);
            });
    return peer.pid();
  }

  private void signal(String name, Process peer) {
    try {
      int status =
          new ProcessBuilder("kill", "-" + name, Long.toString(peer.pid()))
              .inheritIO()
              .start()
              .waitFor();
      if (status != 0 && peer.isAlive()) {
        err.println("kill -" + name + " " + peer.pid() + ": status " + status);
      }
    } catch (IOException e) {
      err.println("kill(1) can not be run: " + e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Lets them go in good order, so that the node does not count them as lost, then ends the rest.
   */
  @Override
  public void close() {
    closed = true;
    synchronized (this) {
      List<Process> left = Arrays.stream(peers).filter(Objects::nonNull).toList();
      left.forEach(this::letGo);
      long endNs = System.nanoTime() + PARTING_NS;
      while (System.nanoTime() < endNs && left.stream().anyMatch(Process::isAlive)) {
        LockSupport.parkNanos(this, PARTING_LOOK_NS);
      }
      // A stopped process ends by this signal alone.
      left.forEach(Process::destroyForcibly);
    }
  }

  /** A peer ends when the pipe to it does. */
  private void letGo(Process peer) {
    try {
      peer.getOutputStream().close();
    } catch (IOException e) {
      err.println("peer " + peer.pid() + ": " + e.getMessage());
    }
  }
}
