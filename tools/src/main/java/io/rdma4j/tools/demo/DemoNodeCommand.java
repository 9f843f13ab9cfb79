package io.rdma4j.tools.demo;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * The demo's database node: a process that serves orders in the way the gateway asks for over a
 * control socket, and ends when the gateway is gone.
 *
 * <p>Control lines: {@code serve WAY ADDRESS} is answered by {@code listening PORT} or {@code error
 * TEXT}, and once that stream is over by {@code result RECEIVED DUPLICATED CORRUPTED} or {@code
 * failed TEXT}; {@code cpu} by {@code cpu NANOSECONDS}; {@code stop} ends a stream that never
 * began; {@code end} ends the process.
 */
@Command(
    name = "demo-node",
    description = "The database node of a demo whose gateway runs elsewhere.",
    mixinStandardHelpOptions = true)
public final class DemoNodeCommand implements Callable<Integer> {
  /** Exit status when the gateway vanished. */
  static final int GATEWAY_GONE = 3;

  private static final int CONTROL_TIMEOUT_MS = 120_000;

  /** After a stream broke off, a gateway that is alive says something within this time. */
  private static final int GATEWAY_SILENCE_S = 10;

  @Option(
      names = "--bind",
      paramLabel = "ADDRESS",
      description = "Address of the control socket (default: ${DEFAULT-VALUE}).",
      defaultValue = "127.0.0.1")
  private String bind = "";

  @Option(
      names = "--port",
      paramLabel = "PORT",
      description = "Port of the control socket, 0 takes a free one (default: ${DEFAULT-VALUE}).",
      defaultValue = "0")
  private int port;

  @Option(names = "--spawned", hidden = true)
  private boolean spawned;

  private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();
  private volatile @Nullable OrderService serving;
  private volatile boolean gatewayGone;
  private boolean streamFailed;
  private boolean listening;

  /** Creates the command. */
  public DemoNodeCommand() {}

  @Override
  public Integer call() throws Exception {
    if (spawned) {
      Thread.ofPlatform().daemon().name("parent-watch").start(this::watchParent);
    }
    try (ServerSocket listener = new ServerSocket(port, 1, InetAddress.getByName(bind))) {
      listener.setSoTimeout(CONTROL_TIMEOUT_MS);
      System.out.println("control " + listener.getLocalPort());
      System.out.flush();
      try (Socket control = listener.accept()) {
        return serveGateway(control);
      }
    } catch (SocketTimeoutException e) {
      System.err.println("rdma4j demo-node: no gateway came within " + CONTROL_TIMEOUT_MS + " ms");
      return GATEWAY_GONE;
    }
  }

  /** The pipe from the parent closes when the parent dies, however early. */
  private void watchParent() {
    try {
      while (System.in.read() >= 0) {}
    } catch (IOException e) {
      System.err.println("rdma4j demo-node: the pipe from the gateway failed: " + e.getMessage());
    }
    gatewayGone();
    // Before the control socket is up nothing else would wake the accepting thread.
    try {
      Thread.sleep(1000);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    System.exit(GATEWAY_GONE);
  }

  private int serveGateway(Socket control) throws IOException, InterruptedException {
    control.setTcpNoDelay(true);
    PrintWriter answers = new PrintWriter(control.getOutputStream(), true, StandardCharsets.UTF_8);
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(control.getInputStream(), StandardCharsets.UTF_8));
    Thread.ofPlatform().daemon().name("control").start(() -> readControl(lines, answers));
    while (true) {
      String command =
          streamFailed ? commands.poll(GATEWAY_SILENCE_S, TimeUnit.SECONDS) : commands.take();
      if (command == null) {
        gatewayGone();
        return GATEWAY_GONE;
      }
      if (command.equals("end")) {
        return 0;
      }
      if (command.equals("gone")) {
        return GATEWAY_GONE;
      }
      String[] words = command.split(" ");
      if (words.length == 3 && words[0].equals("serve")) {
        serve(words[1], InetAddress.getByName(words[2]), answers);
      } else {
        answers.println("error unknown command: " + command);
      }
    }
  }

  private void readControl(BufferedReader lines, PrintWriter answers) {
    try {
      for (String line; (line = lines.readLine()) != null; ) {
        if (line.equals("cpu")) {
          answers.println("cpu " + processCpuNs());
        } else if (line.equals("stop")) {
          stopServing();
        } else {
          commands.add(line);
          if (line.equals("end")) {
            return;
          }
        }
      }
    } catch (IOException e) {
      System.err.println("rdma4j demo-node: control socket: " + e.getMessage());
    }
    gatewayGone();
  }

  private synchronized void gatewayGone() {
    if (!gatewayGone) {
      gatewayGone = true;
      System.err.println("rdma4j demo-node: the order gateway is gone; the database node ends");
      stopServing();
      commands.add("gone");
    }
  }

  private void stopServing() {
    OrderService now = serving;
    if (now != null) {
      now.stop();
    }
  }

  /** Answers with exactly one of listening or error, and after listening with one outcome. */
  private void serve(String way, InetAddress address, PrintWriter answers) {
    String outcome;
    try {
      outcome = serveStream(way, address, answers);
    } catch (IOException | RuntimeException e) {
      outcome = (listening ? "failed " : "error ") + oneLine(e);
    }
    serving = null;
    listening = false;
    answers.println(outcome);
  }

  private String serveStream(String way, InetAddress address, PrintWriter answers)
      throws IOException {
    try (OrderService service = open(way, new InetSocketAddress(address, 0))) {
      serving = service;
      if (gatewayGone) {
        return "error the gateway is gone";
      }
      listening = true;
      answers.println("listening " + service.port());
      try {
        service.serve();
      } catch (IOException e) {
        streamFailed = true;
        System.err.println("rdma4j demo-node: the stream broke off: " + e.getMessage());
        return "failed " + oneLine(e);
      }
      streamFailed = false;
      OrderBook.Tally tally = service.tally();
      return "result " + tally.received() + " " + tally.duplicated() + " " + tally.corrupted();
    }
  }

  private static String oneLine(Exception e) {
    return String.valueOf(e.getMessage()).replace('\n', ' ');
  }

  private static OrderService open(String way, InetSocketAddress address) throws IOException {
    return way.equals("socket") ? new SocketService(address) : new NodeService(way, address);
  }

  /** Returns the CPU time of this process so far, all threads. */
  static long processCpuNs() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }
}
