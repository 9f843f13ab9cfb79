package io.rdma4j.tools.demo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The demo as two real processes. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
final class DemoTest {
  @TempDir private Path directory;

  @SuppressWarnings("unchecked")
  private static List<Map<String, Object>> runs(Path json) throws Exception {
    return (List<Map<String, Object>>)
        Objects.requireNonNull(JSON.std.mapFrom(Files.readString(json)).get("runs"));
  }

  private static long number(Map<String, Object> run, String key) {
    return ((Number) Objects.requireNonNull(run.get(key), run.toString())).longValue();
  }

  private static Set<?> keys(Map<String, Object> run, String key) {
    return ((Map<?, ?>) Objects.requireNonNull(run.get(key), run.toString())).keySet();
  }

  private static Set<String> sharedMemory() throws Exception {
    try (var files = Files.list(Path.of("/dev/shm"))) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.startsWith("rdma4j"))
          .collect(Collectors.toSet());
    }
  }

  @Test
  void everyWayCarriesEveryOrder() throws Exception {
    Path json = directory.resolve("demo.json");
    try (DemoProcess demo =
        new DemoProcess(
            "demo",
            "--seconds",
            "0.4",
            "--provider",
            "socket,tcp,shm",
            "--json",
            json.toString())) {
      assertEquals(0, demo.exitStatus(90), demo.text());
      assertTrue(
          demo.lines().stream().noneMatch(line -> line.contains("\r") || line.contains("\033")),
          "a pipe gets no progress");
    }
    List<Map<String, Object>> runs = runs(json);
    assertEquals(3, runs.size());
    for (Map<String, Object> run : runs) {
      assertTrue(number(run, "messages") > 0, run.toString());
      for (String count : List.of("lost", "duplicated", "corrupted")) {
        assertEquals(0, number(run, count), run.toString());
      }
      assertEquals(Set.of("p50", "p99", "p999"), keys(run, "rttNs"));
      assertEquals(Set.of("rtt", "throughput", "cpu"), keys(run, "ratioToSocket"));
    }
  }

  @Test
  void usersOrdersByLine() throws Exception {
    Path input = directory.resolve("orders.txt");
    Files.writeString(input, "BUY 100 XYZ\nSELL 7 ABC\r\n\nBUY 1 Q\n");
    inputRuns(input, "line", "3 different orders");
  }

  @Test
  void usersOrdersByLength() throws Exception {
    Path input = directory.resolve("orders.bin");
    ByteBuffer bytes = ByteBuffer.allocate(100);
    for (int length : new int[] {0, 5, 40}) {
      bytes.putInt(length).put(new byte[length]);
    }
    Files.write(input, java.util.Arrays.copyOf(bytes.array(), bytes.position()));
    inputRuns(input, "length32", "3 different orders");
  }

  private static void inputRuns(Path input, String framing, String expected) throws Exception {
    try (DemoProcess demo =
        new DemoProcess(
            "demo",
            "--seconds",
            "0.2",
            "--provider",
            "shm",
            "--input",
            input.toString(),
            "--framing",
            framing)) {
      assertEquals(0, demo.exitStatus(60), demo.text());
      assertTrue(demo.lines().getFirst().startsWith(expected), demo.lines().getFirst());
    }
  }

  @Test
  void badInputIsNamed() throws Exception {
    Path cut = directory.resolve("cut.bin");
    Files.write(cut, new byte[] {0, 0, 0, 9, 1});
    List<String[]> cases = new ArrayList<>();
    cases.add(new String[] {"demo", "--provider", "pigeon"});
    cases.add(new String[] {"demo", "--seconds", "0"});
    cases.add(new String[] {"demo", "--input", cut.toString(), "--framing", "morse"});
    for (String[] arguments : cases) {
      try (DemoProcess demo = new DemoProcess(arguments)) {
        assertEquals(64, demo.exitStatus(30), demo.text());
        assertTrue(demo.lines().stream().anyMatch(line -> line.contains("allowed")), demo.text());
      }
    }
    try (DemoProcess demo =
        new DemoProcess("demo", "--input", cut.toString(), "--framing", "length32")) {
      assertNotEquals(0, demo.exitStatus(30));
      assertTrue(demo.lines().stream().anyMatch(line -> line.contains("cut short")), demo.text());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"socket", "tcp", "shm"})
  void aKilledNodeIsNoticedByTheGateway(String way) throws Exception {
    Set<String> before = sharedMemory();
    try (DemoProcess demo =
        new DemoProcess("demo", "--seconds", "60", "--provider", way, "--announce")) {
      demo.awaitLine("round trips");
      demo.databaseNode().destroyForcibly();
      int status = demo.exitStatus(2 + 3); // 2 s to notice, the rest for a busy machine
      assertEquals(3, status, demo.text());
      demo.awaitLine("database node is gone");
    }
    assertEquals(before, sharedMemory());
  }

  @ParameterizedTest
  @ValueSource(strings = {"socket", "tcp", "shm"})
  void aKilledGatewayIsNoticedByTheNode(String way) throws Exception {
    Set<String> before = sharedMemory();
    try (DemoProcess demo =
        new DemoProcess("demo", "--seconds", "60", "--provider", way, "--announce")) {
      demo.awaitLine("round trips");
      ProcessHandle node = demo.databaseNode();
      demo.process().destroyForcibly();
      node.onExit().get(5, TimeUnit.SECONDS);
      demo.awaitLine("order gateway is gone");
    }
    assertEquals(before, sharedMemory());
  }

  @Test
  void aGatewayKilledAtOnceLeavesNoNode() throws Exception {
    try (DemoProcess demo = new DemoProcess("demo", "--seconds", "60", "--announce")) {
      for (int waitMs = 0; demo.process().children().findAny().isEmpty(); waitMs += 2) {
        assertTrue(waitMs < 30_000, "no database node was started");
        Thread.sleep(2);
      }
      ProcessHandle node = demo.databaseNode();
      demo.process().destroyForcibly();
      node.onExit().get(10, TimeUnit.SECONDS);
    }
  }
}
