package io.rdma4j.testkit.provider;

import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.Provider;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * A peer in a process of its own that accepts one connection and echoes what it gets, so that a
 * test can kill it.
 *
 * <p>{@link #main} is what runs in the child. The child ends by itself when its standard input ends
 * (its parent is gone), when the endpoint fails, or after two minutes.
 */
final class ChildPeer implements AutoCloseable {
  private static final Duration TIMEOUT = Duration.ofMinutes(2);
  private static final long LIFETIME_NS = TimeUnit.MINUTES.toNanos(2);

  private final Process process;
  private final InetSocketAddress address;

  private ChildPeer(Process process, InetSocketAddress address) {
    this.process = process;
    this.address = address;
  }

  /** Starts a child and waits until it listens. */
  static ChildPeer start(
      Class<? extends Supplier<Provider>> provider, InetAddress address, EndpointConfig config)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
            .filter(
                argument -> argument.startsWith("-XX:") || argument.startsWith("--enable-native"))
            .toList());
    command.addAll(
        List.of("-cp", System.getProperty("java.class.path"), ChildPeer.class.getName()));
    command.addAll(List.of(provider.getName(), address.getHostAddress()));
    for (int size : new int[] {config.maxMessageBytes(), config.window(), config.ringBytes()}) {
      command.add(Integer.toString(size));
    }
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    var output =
        new BufferedReader(
            new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
    String line = output.readLine();
    if (line == null || !line.matches("[0-9]+")) {
      // A virtual machine that crashes tells why here.
      String rest = output.lines().limit(40).collect(Collectors.joining("\n"));
      process.destroyForcibly();
      throw new IOException("the child process did not listen; it said: " + line + "\n" + rest);
    }
    return new ChildPeer(process, new InetSocketAddress(address, Integer.parseInt(line)));
  }

  /** Returns where the child accepts the bootstrap connection. */
  InetSocketAddress address() {
    return address;
  }

  /** Ends the child as {@code kill -9} does, and waits until it is gone. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }

  /** Runs the child: provider factory class, address, and the three sizes of the endpoint. */
  public static void main(String[] args) throws Exception {
    Supplier<?> factory =
        Class.forName(args[0]).asSubclass(Supplier.class).getDeclaredConstructor().newInstance();
    var config =
        new EndpointConfig(
            Integer.parseInt(args[2]), Integer.parseInt(args[3]), Integer.parseInt(args[4]));
    Thread.ofPlatform().name("parent watch").daemon().start(ChildPeer::endWithParent);
    try (var provider = (Provider) factory.get();
        var server = ServerSocketChannel.open()) {
      server.bind(new InetSocketAddress(InetAddress.getByName(args[1]), 0));
      System.out.println(server.socket().getLocalPort());
      try (var bootstrap = LoopbackHandshake.accept(server, TIMEOUT)) {
        echo(provider.accept(bootstrap, config));
      }
    }
  }

  private static void echo(Endpoint endpoint) {
    var echo = new Echo(endpoint);
    long startNs = System.nanoTime();
    for (long nowNs = startNs; !echo.failed && nowNs - startNs < LIFETIME_NS; ) {
      if (endpoint.poll(echo, 16) == 0) {
        Thread.onSpinWait();
      }
      endpoint.flush();
      nowNs = System.nanoTime();
      endpoint.housekeep(nowNs);
    }
    endpoint.close(Inbox.IGNORE_TOKENS);
  }

  private static void endWithParent() {
    try {
      while (System.in.read() >= 0) {
        // The parent says nothing; only the end of the stream matters.
      }
    } catch (IOException e) {
      System.err.println("standard input of the child peer failed: " + e);
    }
    Runtime.getRuntime().halt(0);
  }

  private static final class Echo implements EndpointListener {
    private final Endpoint endpoint;
    private boolean failed;

    Echo(Endpoint endpoint) {
      this.endpoint = endpoint;
    }

    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      long result = endpoint.send(type, correlationId, memory, offset, lengthBytes);
      if (result < 0) {
        throw new IllegalStateException("echo of message " + correlationId + ": " + result);
      }
    }

    @Override
    public void onSent(long token) {
      throw new IllegalStateException("token " + token + " of a send that never was");
    }

    @Override
    public void onFailure(EndpointFailure cause) {
      failed = true;
    }
  }
}
