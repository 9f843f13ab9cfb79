package io.rdma4j.bench.transport;

import io.rdma4j.Availability;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A program of perftest, the C tools that come with RDMA drivers: two processes on one device,
 * which tell each other of their queue pairs over a socket. Each measurement starts it anew and
 * takes its own figure.
 *
 * @param program for example {@code ib_send_lat}
 * @param device for example {@code rxe0}
 * @param address of the device
 */
record Perftest(String program, String device, InetAddress address) implements Subject {
  private static final int ONE_BY_ONE = 2_000;
  private static final int MESSAGES = 20_000;
  private static final int LONG_MESSAGES = 1_000;
  private static final int LONG_BYTES = 16 * 1024;
  private static final int PORT = 18_515;
  private static final int TIMEOUT_SECONDS = 120;
  private static final int TRIES = 3;
  private static final long LOOK_AGAIN_NS = 100_000_000L;
  private static final String LISTEN = " 0A ";
  private static final int SIZE_COLUMN = 0;
  private static final int TYPICAL_US_COLUMN = 4;
  private static final int MILLION_PER_SECOND_COLUMN = 4;

  /** Returns whether the program is installed. */
  static Availability availability(String program) {
    for (String directory : System.getenv().getOrDefault("PATH", "").split(":")) {
      if (Files.isExecutable(Path.of(directory, program))) {
        return Availability.usable(program);
      }
    }
    return Availability.unusable(program + " is not installed; on Debian it is in perftest");
  }

  @Override
  public boolean isOfOthers() {
    return true;
  }

  /** The program is compiled already. */
  @Override
  public void warmUp(Task task, long durationNs) {}

  @Override
  public Batches measure(Task task, int batches, long batchNs) throws IOException {
    double figure = positive(task);
    double nsPerOp =
        task.kind().isOneByOne()
            ? figure * 1e3 * halvesOf(program)
            : 1e3 / figure; // million messages a second
    return new Batches(new double[] {nsPerOp}, Double.NaN, Double.NaN);
  }

  /** On a machine that stands still for a while these programs print a rate of 0 now and then. */
  private double positive(Task task) throws IOException {
    for (int i = 0; i < TRIES; i++) {
      double figure = run(task);
      if (figure > 0) {
        return figure;
      }
    }
    throw new IOException(program + " has printed 0 for its result " + TRIES + " times");
  }

  /** Latency of sends and writes is printed as half of a round trip, that of reads as all of it. */
  private static int halvesOf(String program) {
    return program.equals("ib_read_lat") ? 1 : 2;
  }

  private double run(Task task) throws IOException {
    List<String> line = commandLine(task);
    Process server = new ProcessBuilder(line).redirectErrorStream(true).start();
    try {
      awaitListening(server);
      List<String> client = new ArrayList<>(line);
      client.add(address.getHostAddress());
      Process process = new ProcessBuilder(client).redirectErrorStream(true).start();
      String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      await(process, output);
      return figure(task, output);
    } finally {
      server.destroy();
    }
  }

  private List<String> commandLine(Task task) throws IOException {
    boolean oneByOne = task.kind().isOneByOne();
    int count = oneByOne ? ONE_BY_ONE : task.lengthBytes() > LONG_BYTES ? LONG_MESSAGES : MESSAGES;
    List<String> line =
        new ArrayList<>(List.of(program, "-F", "-d", device, "-p", Integer.toString(PORT), "-s"));
    line.add(Integer.toString(task.lengthBytes()));
    line.add("-n");
    line.add(Integer.toString(count));
    line.add("-x");
    line.add(Integer.toString(gidIndex()));
    if (!oneByOne && task.depth() > 1) {
      line.addAll(List.of("-l", Integer.toString(task.depth())));
    }
    return line;
  }

  private void awaitListening(Process server) throws IOException {
    String listening = String.format(Locale.ROOT, ":%04X 0", PORT);
    for (int i = 0; i < 10 * TIMEOUT_SECONDS && server.isAlive(); i++) {
      for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
        if (Files.readAllLines(Path.of(table)).stream()
            .anyMatch(line -> line.contains(listening) && line.contains(LISTEN))) {
          return;
        }
      }
      LockSupport.parkNanos(LOOK_AGAIN_NS);
    }
    throw new IOException(program + " does not listen on port " + PORT);
  }

  /** Returns which of the device's GIDs is its IPv4 address: perftest would take the first. */
  private int gidIndex() throws IOException {
    byte[] ip = address.getAddress();
    String gid =
        String.format(
            Locale.ROOT,
            "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x",
            ip[0],
            ip[1],
            ip[2],
            ip[3]);
    Path gids = Path.of("/sys/class/infiniband", device, "ports", "1", "gids");
    for (int i = 0; Files.exists(gids.resolve(Integer.toString(i))); i++) {
      if (Files.readString(gids.resolve(Integer.toString(i))).strip().equals(gid)) {
        return i;
      }
    }
    throw new IOException("port 1 of " + device + " has no GID for " + address);
  }

  private void await(Process process, String output) throws IOException {
    try {
      if (!process.waitFor(TIMEOUT_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
        process.destroyForcibly();
        throw new IOException(program + " failed: " + output);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while running " + program, e);
    }
  }

  /** Returns the typical time in microseconds, or million messages a second. */
  static double figure(Task task, String output) throws IOException {
    String size = Integer.toString(task.lengthBytes());
    int column = task.kind().isOneByOne() ? TYPICAL_US_COLUMN : MILLION_PER_SECOND_COLUMN;
    for (String line : output.lines().toList()) {
      String[] columns = line.strip().split("\\s+");
      if (columns.length > column && columns[SIZE_COLUMN].equals(size)) {
        return Double.parseDouble(columns[column]);
      }
    }
    throw new IOException(
        String.format(Locale.ROOT, "no line for %s bytes in the output: %s", size, output));
  }
}
