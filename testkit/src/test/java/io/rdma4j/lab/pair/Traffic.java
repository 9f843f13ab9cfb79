package io.rdma4j.lab.pair;

import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.status.Cause;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Numbered messages to the {@link PairReceiver}, one after the other by copy and from the pool, and
 * what it says of them. When the connection ends, the next one goes on where the receiver says, and
 * that must be behind all it has acknowledged.
 *
 * <p>Messages are sent by a thread of its own; the other methods are the main thread's, but those
 * of {@link ConnectionHandler}.
 */
final class Traffic implements ConnectionHandler, AutoCloseable {
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final long PACE_NS = 3_000_000;
  private static final long ROOM_TIMEOUT_NS = 200_000_000;
  private static final long NO_WELCOME = -1;

  private final Node node;
  private final InetSocketAddress peer;
  private final Thread thread;
  private final CountDownLatch tallied = new CountDownLatch(1);
  private volatile @Nullable Tally tally;
  private volatile @Nullable Connection connection;
  private volatile long welcome = NO_WELCOME;
  private volatile boolean stopping;
  private volatile @Nullable Throwable failure;

  /** Written by the sending thread: the next message. */
  private volatile long sent;

  /** Written by the polling thread: what is below is delivered. */
  private volatile long acknowledged;

  private final AtomicInteger connections = new AtomicInteger();
  private final AtomicLong movesBefore = new AtomicLong();
  private long lastNewsNs = System.nanoTime();
  private long longestSilenceNs;

  Traffic(Node node, InetSocketAddress peer, long acknowledged) {
    this.node = node;
    this.peer = peer;
    this.acknowledged = acknowledged;
    this.sent = acknowledged;
    thread = Thread.ofPlatform().name("pair-traffic").start(this::run);
  }

  // ---- sending thread ---------------------------------------------------------------------------

  private void run() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment copied = arena.allocate(PairMessage.MAX_BYTES, 8);
      RegisteredBuffer pooled = node.pool().newLease();
      while (!stopping) {
        Connection to = connection;
        if (to == null) {
          connect();
        } else if (send(to, copied, pooled)) {
          LockSupport.parkNanos(PACE_NS);
        }
      }
    } catch (RuntimeException e) {
      failure = e;
    }
  }

  private void connect() {
    welcome = NO_WELCOME;
    Connection opened = node.connect(peer, this, PATIENCE);
    await("the receiver's welcome", () -> welcome != NO_WELCOME || !opened.isOpen());
    long goOn = welcome;
    if (goOn == NO_WELCOME) {
      return; // ended at once: the next attempt
    }
    if (goOn < acknowledged || goOn > sent) {
      throw new IllegalStateException(
          "the receiver wants message %d next; it has acknowledged %d, and %d were sent"
              .formatted(goOn, acknowledged, sent));
    }
    sent = goOn;
    connections.incrementAndGet();
    connection = opened;
  }

  private boolean send(Connection to, MemorySegment copied, RegisteredBuffer pooled) {
    long number = sent;
    long result;
    if (number % 2 == 0) {
      result = to.send(copied, 0, PairMessage.writeData(copied, number), ROOM_TIMEOUT_NS);
    } else {
      node.pool().allocate(PairMessage.MAX_BYTES, pooled);
      pooled.lengthBytes(PairMessage.writeData(pooled.segment(), number));
      result = to.send(pooled, ROOM_TIMEOUT_NS);
      if (result < 0) {
        pooled.release();
      }
    }
    if (result >= 0) {
      sent = number + 1;
    } else if (result != SendResult.BACK_PRESSURED) {
      await("the end of " + to, () -> !to.isOpen());
      movesBefore.addAndGet(to.pathChanges());
      connection = null;
    }
    return result >= 0;
  }

  // ---- polling thread ---------------------------------------------------------------------------

  @Override
  public void onMessage(Connection from, Message message) {
    MemorySegment payload = message.payload();
    if (!PairMessage.isIntact(payload)) {
      failure = new IllegalStateException("damaged: a message of the receiver over " + from);
      return;
    }
    long number = PairMessage.number(payload);
    switch ((int) PairMessage.kind(payload)) {
      case (int) PairMessage.WELCOME -> welcome = number;
      case (int) PairMessage.DELIVERED -> delivered(number);
      case (int) PairMessage.TALLY -> {
        tally = PairMessage.tally(payload);
        tallied.countDown();
      }
      default -> failure = new IllegalStateException("unknown kind in a message over " + from);
    }
  }

  private synchronized void delivered(long number) {
    if (number < acknowledged) {
      failure =
          new IllegalStateException(
              "acknowledged %d, after that %d".formatted(acknowledged, number));
    }
    acknowledged = number;
    long nowNs = System.nanoTime();
    longestSilenceNs = Math.max(longestSilenceNs, nowNs - lastNewsNs);
    lastNewsNs = nowNs;
  }

  @Override
  public void onDisconnected(Connection ended, EndpointFailure reason) {
    System.out.println("sender: connection " + ended.id() + " ended: " + reason.message());
  }

  // ---- main thread ------------------------------------------------------------------------------

  /** Waits for a condition; fails when the traffic has failed meanwhile. */
  void await(String what, BooleanSupplier condition) {
    long endNs = System.nanoTime() + PATIENCE.toNanos();
    while (!condition.getAsBoolean()) {
      Throwable cause = failure;
      if (cause != null) {
        throw new IllegalStateException(cause.getMessage(), cause);
      }
      if (System.nanoTime() - endNs > 0) {
        throw new IllegalStateException(
            "not within %d s: %s; %d sent, %d acknowledged, %s"
                .formatted(PATIENCE.toSeconds(), what, sent, acknowledged, connection));
      }
      LockSupport.parkNanos(2_000_000);
    }
  }

  /** Returns the number of the next message: all acknowledged below it were sent before now. */
  long sent() {
    return sent;
  }

  long acknowledged() {
    return acknowledged;
  }

  /** Returns the path of the present connection, or "none". */
  String path() {
    Connection now = connection;
    return now == null ? "none" : now.path().name();
  }

  /** Returns how often a connection took another path. */
  long moves() {
    Connection now = connection;
    return movesBefore.get() + (now == null ? 0 : now.pathChanges());
  }

  int connections() {
    return connections.get();
  }

  /** Returns the number of the latest event that the node has noted. */
  long lastEvent() {
    return node.journal().lastSequence();
  }

  /** Returns what the node gives as the causes of incidents that began behind an event. */
  List<String> causesBehind(long event) {
    return node.journal().incidents().stream()
        .filter(incident -> incident.id() > event)
        .map(incident -> incident.cause().map(Cause::id).orElse("unknown"))
        .distinct()
        .toList();
  }

  /** Forgets the silences up to now. */
  synchronized void listenAnew() {
    longestSilenceNs = 0;
    lastNewsNs = System.nanoTime();
  }

  /** Returns the longest time without a new acknowledgement. */
  synchronized long longestSilenceNs() {
    return longestSilenceNs;
  }

  void order(Order order) {
    Connection to = connection;
    if (to == null) {
      throw new IllegalStateException("no connection for the order " + order);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment message = arena.allocate(PairMessage.HEADER_BYTES, 8);
      int lengthBytes = PairMessage.write(message, PairMessage.ORDER, order.code());
      long result = to.send(message, 0, lengthBytes, PATIENCE.toNanos());
      if (result < 0) {
        throw new IllegalStateException(order + ": " + SendResult.nameOf(result));
      }
    }
  }

  /** Sends no more, and waits until all that was sent is acknowledged. */
  void settle() throws InterruptedException {
    stopping = true;
    thread.join();
    await("the last acknowledgement", () -> acknowledged == sent);
  }

  /** Ends the receiver; behind {@link #settle}. */
  Tally end() throws InterruptedException {
    order(Order.END);
    if (!tallied.await(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
      throw new IllegalStateException("the receiver does not tell what it found");
    }
    return Objects.requireNonNull(tally);
  }

  @Override
  public void close() {
    stopping = true;
    Connection now = connection;
    if (now != null) {
      now.close();
    }
  }
}
