package io.rdma4j.tools.serve;

import io.rdma4j.Rdma4jException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Where a serving process takes faults: a Unix socket in a folder that its user alone can enter,
 * named by the process. A request is one line, its answer another.
 *
 * <p>The server side owns a thread, and removes the socket when closed.
 */
final class FaultSocket implements AutoCloseable {
  private static final String SUFFIX = ".fault";
  private static final String OK = "ok ";

  private final Path path;
  private final ServerSocketChannel listener;
  private final Function<String, String> executor;

  /**
   * Listens.
   *
   * @param executor answers a line; an {@link IllegalArgumentException} is an answer as well
   */
  FaultSocket(Function<String, String> executor) throws IOException {
    this.executor = executor;
    path = folder().resolve(ProcessHandle.current().pid() + SUFFIX);
    Files.deleteIfExists(path);
    listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      listener.bind(UnixDomainSocketAddress.of(path));
    } catch (IOException | RuntimeException e) {
      listener.close();
      throw e;
    }
    Thread.ofPlatform().daemon().name("rdma4j-faults").start(this::run);
  }

  /** Returns the process by which {@link #send} finds it. */
  long pid() {
    return ProcessHandle.current().pid();
  }

  private static Path folder() throws IOException {
    Path folder =
        Path.of(System.getProperty("java.io.tmpdir"), "rdma4j-" + System.getProperty("user.name"));
    if (!Files.isDirectory(folder)) {
      Files.createDirectory(
          folder,
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }
    if (!Files.getOwner(folder).getName().equals(System.getProperty("user.name"))) {
      throw new IOException(folder + " belongs to " + Files.getOwner(folder) + "; remove it");
    }
    return folder;
  }

  private void run() {
    while (listener.isOpen()) {
      try (SocketChannel client = listener.accept();
          BufferedReader in =
              new BufferedReader(Channels.newReader(client, StandardCharsets.UTF_8));
          PrintWriter out = new PrintWriter(Channels.newWriter(client, StandardCharsets.UTF_8))) {
        String line = in.readLine();
        if (line != null) {
          out.println(answer(line));
        }
      } catch (ClosedChannelException e) {
        return;
      } catch (IOException e) {
        System.err.println("rdma4j serve: a fault could not be taken: " + e.getMessage());
      }
    }
  }

  private String answer(String line) {
    try {
      return OK + executor.apply(line);
    } catch (IllegalArgumentException | IllegalStateException | Rdma4jException e) {
      return "error " + e.getMessage();
    }
  }

  /** Returns the processes that take faults now. */
  static List<Long> serving() throws IOException {
    try (Stream<Path> files = Files.list(folder())) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith(SUFFIX))
          .map(name -> Long.valueOf(name.substring(0, name.length() - SUFFIX.length())))
          .filter(pid -> ProcessHandle.of(pid).isPresent())
          .sorted()
          .toList();
    }
  }

  /**
   * Sends a line to a process.
   *
   * @throws IOException when it does not answer, or answers that it can not do that
   */
  static String send(long pid, String line) throws IOException {
    try (SocketChannel server = connect(pid);
        BufferedReader in = new BufferedReader(Channels.newReader(server, StandardCharsets.UTF_8));
        PrintWriter out =
            new PrintWriter(Channels.newWriter(server, StandardCharsets.UTF_8), true)) {
      out.println(line);
      String answer = in.readLine();
      if (answer == null || !answer.startsWith(OK)) {
        throw new IOException("process " + pid + " says: " + answer);
      }
      return answer.substring(OK.length());
    }
  }

  private static SocketChannel connect(long pid) throws IOException {
    Path path = folder().resolve(pid + SUFFIX);
    try {
      return SocketChannel.open(UnixDomainSocketAddress.of(path));
    } catch (IOException e) {
      throw new IOException(
          "process %d takes no faults (%s: %s); those that do: %s"
              .formatted(pid, path, e.getMessage(), serving()),
          e);
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    Files.deleteIfExists(path);
  }
}
