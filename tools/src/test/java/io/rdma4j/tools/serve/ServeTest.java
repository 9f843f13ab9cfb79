package io.rdma4j.tools.serve;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.tools.top.TopCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** A serving process as a user starts it, watched by top and broken by fault. */
@Timeout(600)
class ServeTest {
  private static final int PEERS = 2;
  private static final long LIMIT_NS = TimeUnit.SECONDS.toNanos(180);

  @TempDir private Path folder;
  private final HttpClient http = HttpClient.newHttpClient();
  private @Nullable Process started;
  private String url = "";

  @Test
  void aServedNodeIsWatchedAndBroken() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                "io.rdma4j.tools.Main",
                "serve",
                "--port=0",
                "--monitor-port=0",
                "--peers=" + PEERS,
                "--rate=50")
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("serve.out").toFile())
            .start();
    started = process;
    List<ProcessHandle> peers = List.of();
    try {
      await("start", () -> said().contains("faults"));
      Matcher address = Pattern.compile("http://\\S+").matcher(said());
      assertTrue(address.find(), said());
      url = address.group();
      await("peers", () -> value("rdma4j_node_connections_opened_total") >= PEERS);
      topShowsIt();
      faultsShowInItsMetrics();
      peers = process.descendants().toList();
    } finally {
      process.destroy();
      assertTrue(process.waitFor(60, TimeUnit.SECONDS), "ends by a signal");
    }
    for (ProcessHandle peer : peers) {
      peer.onExit().get(60, TimeUnit.SECONDS);
    }
  }

  private void topShowsIt() {
    for (String target : List.of(url, Long.toString(pid()))) {
      String shown = run(new TopCommand(), target, "--seconds", "1");
      // A peer that stood still on a machine under load may just be coming back.
      assertTrue(shown.contains("  connections "), shown);
    }
  }

  private void faultsShowInItsMetrics() throws Exception {
    String killed = fault("kill-peer");
    assertTrue(killed.startsWith("killed peer "), killed);
    await("loss", () -> ended("peer_lost") == 1);
    assertTrue(fault("stranger").startsWith("spoke HTTP"));
    await("stranger", () -> value("rdma4j_node_handshakes_failed_total") >= 1);
    assertTrue(fault("fail-handler", "--seconds=1").contains("throws"));
    await("handler", () -> sum("rdma4j_node_handler_errors_total") > 0);
    assertTrue(fault("exhaust-pool", "--seconds=1").startsWith("took all buffers"));
    await("pool", () -> sum("rdma4j_pool_exhausted_total") > 0);
    assertTrue(fault("close-connection").startsWith("closed connection"));
    await("close", () -> ended("peer_closed") >= 1);
    assertTrue(fault("stall-handler", "--seconds=1").contains("stands still"));
    await("another peer", () -> value("rdma4j_node_connections_opened_total") > PEERS);
    String stopped = fault("stop-peer", "--seconds=30");
    assertTrue(stopped.startsWith("stopped peer "), stopped);
    // Its sockets stay open, so the heartbeats that do not come tell.
    await("silence", () -> ended("peer_lost") >= 2);
  }

  @Test
  void wrongFaultsAreRefused() {
    assertEquals(
        CommandLine.ExitCode.USAGE,
        command(new FaultCommand(), new StringWriter()).execute("no-such-fault"));
    assertEquals(
        CommandLine.ExitCode.USAGE,
        command(new FaultCommand(), new StringWriter()).execute("stop-peer", "--seconds=0"));
    StringWriter said = new StringWriter();
    assertEquals(
        CommandLine.ExitCode.USAGE,
        command(new FaultCommand(), said).execute("kill-peer", "--seconds=7"));
    assertTrue(said.toString().contains("over at once"), said::toString);
    String all = run(new FaultCommand());
    assertEquals(Fault.values().length, all.lines().count(), all);
  }

  private long pid() {
    return Objects.requireNonNull(started).pid();
  }

  private String fault(String name, String... options) {
    String[] arguments = new String[options.length + 2];
    arguments[0] = name;
    arguments[1] = "--pid=" + pid();
    System.arraycopy(options, 0, arguments, 2, options.length);
    return run(new FaultCommand(), arguments);
  }

  private static String run(Object command, String... arguments) {
    StringWriter out = new StringWriter();
    assertEquals(0, command(command, out).execute(arguments), out::toString);
    return out.toString();
  }

  private static CommandLine command(Object command, StringWriter out) {
    return new CommandLine(command).setOut(new PrintWriter(out)).setErr(new PrintWriter(out));
  }

  private String said() throws IOException {
    return Files.readString(folder.resolve("serve.out"));
  }

  private double ended(String cause) throws Exception {
    return value("rdma4j_node_connections_ended_total{cause=\"" + cause + "\"}");
  }

  private double value(String series) throws Exception {
    return lines(series + " : ")
        .mapToDouble(line -> Double.parseDouble(line.split(" : ")[1]))
        .findFirst()
        .orElseThrow(() -> new AssertionError("no " + series));
  }

  private double sum(String metric) throws Exception {
    return lines(metric + "{").mapToDouble(l -> Double.parseDouble(l.split(" : ")[1])).sum();
  }

  private Stream<String> lines(String start) throws Exception {
    HttpResponse<String> vars =
        http.send(
            HttpRequest.newBuilder(URI.create(url + "vars")).build(),
            HttpResponse.BodyHandlers.ofString());
    assertEquals(200, vars.statusCode());
    return vars.body().lines().filter(line -> line.startsWith(start));
  }

  private interface Condition {
    boolean holds() throws Exception;
  }

  private void await(String what, Condition condition) throws Exception {
    long endNs = System.nanoTime() + LIMIT_NS;
    while (!condition.holds()) {
      assertTrue(System.nanoTime() < endNs, () -> "no " + what + " within 180 s");
      if (started == null || !started.isAlive()) {
        throw new AssertionError("the process has ended: " + said());
      }
      Thread.sleep(50);
    }
  }
}
