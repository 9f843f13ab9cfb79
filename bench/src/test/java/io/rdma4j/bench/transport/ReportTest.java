package io.rdma4j.bench.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import io.rdma4j.bench.Series;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReportTest {
  private static final Task TASK = Task.roundTrip(64);

  @TempDir private Path directory;

  private static Measured row(Task task, String way, double ns) {
    return new Measured(
        task,
        way,
        new Series(List.of(new double[] {ns, 2 * ns}, new double[] {ns})),
        new Series(List.of(new double[] {2 * ns}, new double[] {2 * ns})),
        0);
  }

  private static Result result() {
    Result result = new Result("latency", Map.of("cpu", "one & <two>"));
    result.addWay(new SocketWay("socket", false));
    result.addRows(
        Map.of("rtt64_shm", row(TASK, "shm", 500), "rtt64_socket", row(TASK, "socket", 10_000)));
    result.addFigure(Figure.time("rtt64_socket_vs_shm", TASK, "socket", "shm"), Map.of());
    result.addFigure(
        Figure.time("rtt64_jucx_vs_shm", TASK, "jucx", "shm"),
        Map.of("rtt64_jucx", "not installed"));
    result.addNumber("idle_core_percent", 1.5);
    Histogram ns = new Histogram(3);
    ns.recordValue(10_000);
    result.addDistribution("rtt64_socket", ns);
    return result;
  }

  @Test
  void theFileHasRatiosAndReasons() throws IOException {
    Path file = directory.resolve("out.json");
    result().writeJson(file);
    Map<String, Object> root = JSON.std.mapFrom(Files.readString(file));
    assertEquals(Map.of("idle_core_percent", 1.5, "rtt64_socket_vs_shm", 20.0), root.get("ratios"));
    assertEquals(Map.of("rtt64_jucx_vs_shm", "not installed"), root.get("missing"));
    List<?> rows = assertInstanceOf(List.class, root.get("rows"));
    assertEquals(2, rows.size());
  }

  @Test
  void thePageLoadsNothingAndEscapesWhatItShows() throws IOException {
    Path file = directory.resolve("out.html");
    HtmlReport.write(result(), file);
    String page = Files.readString(file);
    assertTrue(page.contains("one &amp; &lt;two&gt;"), page);
    assertTrue(page.contains("20.00x"), page);
    assertTrue(page.contains("<svg"), page);
    assertFalse(page.contains("http"), page);
    assertFalse(page.contains("<script"), page);
  }

  @Test
  void figuresOfPerftestAreRead() throws IOException {
    String latency = " 64      2000          7.54           91.65        8.11     \t   8.40\n";
    assertEquals(8.11, Perftest.figure(TASK, "#bytes #iterations\n" + latency));
    String rate = " 65536      1000             312.00             305.12   \t\t   0.004882\n";
    assertEquals(0.004882, Perftest.figure(Task.stream(65_536, 1), rate));
    assertThrows(IOException.class, () -> Perftest.figure(TASK, "Couldn't connect"));
  }
}
