package io.rdma4j.examples.replication;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A replica in a process of its own, which can be killed. */
final class ReplicaProcess implements AutoCloseable {
  private final Process process;
  private final InetSocketAddress address;

  private ReplicaProcess(Process process, int port) {
    this.process = process;
    this.address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  /** Starts a replica with an empty log, and waits until it listens. */
  static ReplicaProcess start(int port, long capacityBytes, String... paths) throws IOException {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                Replica.class.getName(),
                Integer.toString(port),
                Long.toString(capacityBytes)));
    command.addAll(List.of(paths));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String line =
        new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))
            .readLine();
    if (line == null) {
      process.destroyForcibly();
      throw new IOException("the replica on port " + port + " did not start; see above");
    }
    return new ReplicaProcess(process, Integer.parseInt(line));
  }

  InetSocketAddress address() {
    return address;
  }

  /** Ends it as {@code kill -9} does, and waits until it is gone. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** Lets it end in good order; it is killed if it does not within a while. */
  @Override
  public void close() throws IOException {
    process.getOutputStream().close();
    process.onExit().completeOnTimeout(process, 30, TimeUnit.SECONDS).join();
    process.destroyForcibly();
  }
}
