package io.rdma4j.bench.monitor;

import io.rdma4j.monitor.HurriedMonitor;
import io.rdma4j.monitor.Monitor;
import io.rdma4j.transport.Node;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A monitor beside a node, a browser that follows it, and a Prometheus that scrapes it, each once
 * in a period. The latter two do no more than ask and read. Owns the monitor; not thread-safe.
 */
final class Watchers implements AutoCloseable {
  private static final long JOIN_MS = 10_000;
  private static final long PATIENCE_NS = 10_000_000_000L;

  private final Monitor monitor;
  private final long periodNs;
  private final Socket stream;
  private final Thread follower;
  private final Thread scraper;
  private volatile boolean running = true;
  private final AtomicLong scrapes = new AtomicLong();
  private final AtomicLong messages = new AtomicLong();
  private volatile @Nullable IOException failure;

  Watchers(Node node, Path root, long periodNs) throws IOException {
    this.periodNs = periodNs;
    monitor = HurriedMonitor.start(node.metrics(), node.journal(), root, periodNs);
    try {
      stream = ask("/stream");
    } catch (IOException | RuntimeException e) {
      monitor.close();
      throw e;
    }
    follower = Thread.ofPlatform().daemon().name("bench-follower").start(this::follow);
    scraper = Thread.ofPlatform().daemon().name("bench-scraper").start(this::scrape);
    awaitBeginning();
  }

  /** What a stream begins with is over before a slice begins. */
  private void awaitBeginning() throws IOException {
    for (long endNs = System.nanoTime() + PATIENCE_NS; messages.get() == 0; ) {
      LockSupport.parkNanos(100_000);
      if (System.nanoTime() - endNs > 0) {
        close();
        throw new IOException("the monitor's stream has not begun within 10 s");
      }
    }
  }

  private Socket ask(String page) throws IOException {
    InetSocketAddress at = monitor.address();
    Socket socket = new Socket(at.getAddress(), at.getPort());
    try {
      socket
          .getOutputStream()
          .write(
              ("GET " + page + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                  .getBytes(StandardCharsets.US_ASCII));
      return socket;
    } catch (IOException e) {
      socket.close();
      throw e;
    }
  }

  private void follow() {
    byte[] buffer = new byte[1 << 16];
    try {
      InputStream in = stream.getInputStream();
      for (int n; (n = in.read(buffer)) >= 0; ) {
        messages.addAndGet(count(buffer, n));
      }
    } catch (IOException e) {
      if (running) {
        failure = e;
      }
    }
  }

  /** Two line ends in a row end a message. */
  private static long count(byte[] buffer, int length) {
    long ends = 0;
    for (int i = 1; i < length; i++) {
      if (buffer[i] == '\n' && buffer[i - 1] == '\n') {
        ends++;
      }
    }
    return ends;
  }

  /** In the middle between two looks of the monitor. */
  private void scrape() {
    byte[] buffer = new byte[1 << 16];
    long nextNs = System.nanoTime() + periodNs / 2;
    while (running) {
      long leftNs = nextNs - System.nanoTime();
      if (leftNs > 0) {
        LockSupport.parkNanos(leftNs);
        continue;
      }
      nextNs += periodNs;
      try (Socket socket = ask("/metrics")) {
        readAnswer(socket.getInputStream(), buffer);
        scrapes.incrementAndGet();
      } catch (IOException e) {
        if (running) {
          failure = e;
        }
      }
    }
  }

  private static void readAnswer(InputStream in, byte[] buffer) throws IOException {
    int first = in.read(buffer);
    if (first < 0 || !new String(buffer, 0, first, StandardCharsets.US_ASCII).contains(" 200 ")) {
      throw new EOFException("/metrics did not answer with status 200");
    }
    while (in.read(buffer) >= 0) {}
  }

  /** Returns how often it was scraped so far. */
  long scrapes() {
    return scrapes.get();
  }

  /** Returns how many messages the follower has had. */
  long messages() {
    return messages.get();
  }

  @Override
  public void close() throws IOException {
    running = false;
    LockSupport.unpark(scraper);
    monitor.close();
    stream.close();
    try {
      scraper.join(JOIN_MS);
      follower.join(JOIN_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    IOException failed = failure;
    if (failed != null) {
      throw failed;
    }
  }
}
