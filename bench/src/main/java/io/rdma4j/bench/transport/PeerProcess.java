package io.rdma4j.bench.transport;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** This process's hold on the {@link Peer}. Single thread only; closing ends the process. */
final class PeerProcess implements AutoCloseable {
  private static final String GONE = "gone";
  private static final int TIMEOUT_SECONDS = 120;

  private final Process process;
  private final PrintWriter commands;
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private boolean ended;

  /** Starts the peer with this process's class path and options. */
  PeerProcess() throws IOException {
    List<String> line = new ArrayList<>();
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    line.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
    line.addAll(List.of("-cp", System.getProperty("java.class.path"), Peer.class.getName()));
    process = new ProcessBuilder(line).redirectError(Redirect.INHERIT).start();
    commands = new PrintWriter(process.getOutputStream(), true, StandardCharsets.UTF_8);
    Thread.ofPlatform().daemon(true).name("bench-answers").start(this::read);
  }

  private void read() {
    try (BufferedReader in =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        answers.add(line);
      }
    } catch (IOException e) {
      answers.add("failed " + e);
    }
    answers.add(GONE);
  }

  /** Opens a way and returns this side's end. */
  Link open(Way way) throws IOException {
    commands.println("open " + way.name());
    Link link = way.connect(answer("address")[1]);
    try {
      answer("ready");
      return link;
    } catch (IOException e) {
      link.close();
      throw e;
    }
  }

  /** Makes the peer answer on a way. */
  void serve(String name) throws IOException {
    commands.println("serve " + name);
    answer("serving");
  }

  /** Waits until the peer has stopped serving. */
  Served served() throws IOException {
    String[] words = answer("served");
    return new Served(Long.parseLong(words[1]), Long.parseLong(words[2]));
  }

  /** What the peer has counted on a way so far. */
  record Served(long received, long misordered) {}

  /** Returns the CPU time of the peer so far. */
  long cpuNs() throws IOException {
    commands.println("cpu");
    return Long.parseLong(answer("cpu")[1]);
  }

  private String[] answer(String expected) throws IOException {
    String line;
    try {
      line = answers.poll(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while waiting for the peer", e);
    }
    if (line == null) {
      throw new IOException("the peer has not said '" + expected + "' for 120 s");
    }
    String[] words = line.split(" ");
    if (!words[0].equals(expected)) {
      throw new IOException("instead of '" + expected + "' the peer says: " + line);
    }
    return words;
  }

  /** Makes the peer close its links, in the order of their opening; it answers nothing any more. */
  void end() {
    if (!ended) {
      ended = true;
      commands.println("end");
    }
  }

  @Override
  public void close() {
    end();
    try {
      if (process.waitFor(10, TimeUnit.SECONDS)) {
        return;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    process.destroyForcibly();
    process.onExit().join();
    Peer.removeLeftovers(Ways.all(), process.pid());
  }
}
