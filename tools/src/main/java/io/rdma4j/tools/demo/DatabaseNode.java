package io.rdma4j.tools.demo;

import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.ProcessBuilder.Redirect;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The gateway's hold on the database node: its process, when it was started here, and its control
 * socket.
 *
 * <p>Single thread only. Closing ends the process.
 */
final class DatabaseNode implements AutoCloseable {
  /** The node has vanished. */
  static final class GoneException extends IOException {
    private static final long serialVersionUID = 1L;

    GoneException(String message) {
      super(message);
    }
  }

  private static final int START_TIMEOUT_MS = 120_000;
  private static final int ANSWER_TIMEOUT_MS = 30_000;
  private static final int ABANDON_TIMEOUT_MS = 5_000;
  private static final int CONNECT_RETRY_MS = 200;

  private final @Nullable Process process;
  private final Socket control;
  private final PrintWriter commands;
  private final BufferedReader answers;

  /** True from "listening" until the node has told how the stream ended. */
  private boolean outcomeDue;

  private DatabaseNode(@Nullable Process process, Socket control) throws IOException {
    this.process = process;
    this.control = control;
    control.setTcpNoDelay(true);
    control.setSoTimeout(ANSWER_TIMEOUT_MS);
    commands = new PrintWriter(control.getOutputStream(), true, StandardCharsets.UTF_8);
    answers =
        new BufferedReader(new InputStreamReader(control.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Starts the node as a second JVM with this one's class path, modules and options. */
  static DatabaseNode spawn() throws IOException {
    Process process =
        new ProcessBuilder(commandLine())
            .redirectError(Redirect.INHERIT)
            .redirectInput(Redirect.PIPE)
            .start();
    try {
      String line = controlLine(process);
      int port = Integer.parseInt(line.substring("control ".length()));
      return new DatabaseNode(process, connect(new InetSocketAddress("127.0.0.1", port)));
    } catch (IOException | RuntimeException e) {
      process.destroyForcibly();
      throw e;
    }
  }

  /** Waits for the node to say where its control socket is; a node that hangs is ended. */
  private static String controlLine(Process process) throws IOException {
    BufferedReader out =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    CompletableFuture<Boolean> tooLate =
        new CompletableFuture<Boolean>()
            .completeOnTimeout(true, START_TIMEOUT_MS, TimeUnit.MILLISECONDS);
    CompletableFuture<Void> ending =
        tooLate.thenAccept(
            late -> {
              if (late) {
                process.destroyForcibly();
              }
            });
    try {
      StringBuilder said = new StringBuilder();
      for (String line; (line = out.readLine()) != null; ) {
        if (line.startsWith("control ")) {
          return line;
        }
        said.append(line).append('\n'); // a JVM may warn first
      }
      throw new GoneException("the database node did not start; it said: " + said);
    } finally {
      tooLate.complete(false);
      ending.join();
    }
  }

  /** Takes a node that was started elsewhere by {@code demo-node}. */
  static DatabaseNode remote(InetSocketAddress address) throws IOException {
    return new DatabaseNode(null, connect(address));
  }

  /** Connects; a node that is just starting is given time. */
  private static Socket connect(InetSocketAddress address) throws IOException {
    long endNs = System.nanoTime() + START_TIMEOUT_MS * 1_000_000L;
    while (true) {
      Socket socket = new Socket();
      try {
        socket.connect(address, START_TIMEOUT_MS);
        return socket;
      } catch (IOException e) {
        socket.close();
        if (!(e instanceof ConnectException) || System.nanoTime() - endNs >= 0) {
          throw new IOException("no database node at " + address + ": " + e.getMessage(), e);
        }
        LockSupport.parkNanos(CONNECT_RETRY_MS * 1_000_000L);
      }
    }
  }

  private static List<String> commandLine() {
    List<String> line = new ArrayList<>();
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    line.addAll(java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments());
    String modules = System.getProperty("jdk.module.path");
    if (modules != null) {
      line.addAll(List.of("-p", modules, "-m", "io.rdma4j.tools/io.rdma4j.tools.Main"));
    } else {
      line.addAll(List.of("-cp", System.getProperty("java.class.path"), "io.rdma4j.tools.Main"));
    }
    line.addAll(List.of("demo-node", "--spawned"));
    return line;
  }

  /** Returns the node's process id, or -1 when it runs elsewhere. */
  long pid() {
    return process == null ? -1 : process.pid();
  }

  /** Makes the node serve one stream in the given way and returns where it listens. */
  InetSocketAddress serve(String way, String address) throws IOException {
    commands.println("serve " + way + " " + address);
    String[] words = answer("listening").split(" ");
    outcomeDue = true;
    return new InetSocketAddress(address, Integer.parseInt(words[1]));
  }

  /** Returns the CPU time of the node's process so far. */
  long cpuNs() throws IOException {
    commands.println("cpu");
    return Long.parseLong(answer("cpu").split(" ")[1]);
  }

  /** Returns what the node counted, after the stream has been closed. */
  OrderBook.Tally result() throws IOException {
    outcomeDue = false;
    String[] words = answer("result").split(" ");
    return new OrderBook.Tally(
        Long.parseLong(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]));
  }

  /** Takes the outcome of a stream that failed on this side, so that the next one starts clean. */
  void abandon() throws IOException {
    if (outcomeDue) {
      outcomeDue = false;
      commands.println("stop");
      control.setSoTimeout(ABANDON_TIMEOUT_MS);
      readLine();
      control.setSoTimeout(ANSWER_TIMEOUT_MS);
    }
  }

  private String answer(String expected) throws IOException {
    String line = readLine();
    if (!line.startsWith(expected + " ")) {
      throw new IOException("the database node says: " + line);
    }
    return line;
  }

  private String readLine() throws IOException {
    try {
      String line = answers.readLine();
      if (line == null) {
        throw new EOFException();
      }
      return line;
    } catch (SocketTimeoutException e) {
      throw new GoneException("the database node gives no answer");
    } catch (EOFException | java.net.SocketException e) {
      throw new GoneException("the database node is gone");
    }
  }

  /** Returns true when the node's process, started here, has ended; waits a moment for that. */
  boolean hasEnded() {
    try {
      return process != null && process.waitFor(500, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  @Override
  public void close() throws IOException {
    commands.println("end");
    control.close();
    if (process != null) {
      try {
        if (!process.waitFor(5, TimeUnit.SECONDS)) {
          process.destroyForcibly();
        }
      } catch (InterruptedException e) {
        process.destroyForcibly();
        Thread.currentThread().interrupt();
      }
    }
  }
}
