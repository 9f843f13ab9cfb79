package io.rdma4j.monitor;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * Hands messages to whoever follows, as server-sent events (HTML standard, section 9.2).
 *
 * <p>A follower that does not keep up misses messages, and is cut off when it has taken none for
 * {@value #PATIENCE_NS} ns. Thread-safe.
 */
final class LiveFeed {
  private static final int WAITING_MESSAGES = 4;
  private static final long PATIENCE_NS = 30_000_000_000L;
  private static final long SILENCE_S = 10;
  private static final byte[] STILL_HERE = ":\n\n".getBytes(StandardCharsets.US_ASCII);

  private final Set<Follower> followers = ConcurrentHashMap.newKeySet();
  private volatile boolean closed;

  private static final class Follower {
    private final Thread thread = Thread.currentThread();
    private final BlockingQueue<byte[]> messages = new ArrayBlockingQueue<>(WAITING_MESSAGES);
    private volatile long takenNs = System.nanoTime();
  }

  boolean isFollowed() {
    return !followers.isEmpty();
  }

  int followers() {
    return followers.size();
  }

  /** Hands a JSON text to all followers. */
  void publish(String json) {
    byte[] message = event(json);
    long nowNs = System.nanoTime();
    for (Follower follower : followers) {
      if (!follower.messages.offer(message) && nowNs - follower.takenNs > PATIENCE_NS) {
        follower.thread.interrupt();
      }
    }
  }

  /** A line feed ends a field; JSON has them between its parts only. */
  private static byte[] event(String json) {
    return ("data: " + json.replace("\n", "") + "\n\n").getBytes(StandardCharsets.UTF_8);
  }

  /**
   * Follows on this thread until the client goes, or {@link #close}.
   *
   * @param first what to begin with
   * @throws IOException when the client has gone
   */
  void follow(String first, OutputStream out) throws IOException {
    Follower follower = new Follower();
    followers.add(follower);
    try {
      out.write(event(first));
      out.flush();
      while (!closed) {
        byte[] message = follower.messages.poll(SILENCE_S, TimeUnit.SECONDS);
        out.write(message == null ? STILL_HERE : message);
        out.flush();
        follower.takenNs = System.nanoTime();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      followers.remove(follower);
    }
  }

  /** Ends all followers. */
  void close() {
    closed = true;
    followers.forEach(follower -> follower.thread.interrupt());
  }
}
