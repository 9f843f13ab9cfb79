package io.rdma4j.transport;

import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.testkit.simulation.SimulatedSocket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * One end of a simulated connection, with an application that keeps books: every message accepted
 * for sending is on record, and what arrives has to be the next one on the peer's record.
 */
final class SimulatedEnd implements ConnectionHandler {
  /** Kinds of messages on record. */
  enum Kind {
    DATA,
    REQUEST,
    REPLY
  }

  /** A request that was taken in and has not been answered. */
  record Owed(long correlationId, long requestKey) {}

  /** A message whose payload was taken. */
  private record Kept(RegisteredBuffer payload, long key) {}

  /** A request that was sent. */
  static final class Asked {
    final CompletableFuture<Reply> reply;
    final long key;
    int endings;

    Asked(CompletableFuture<Reply> reply, long key) {
      this.reply = reply;
      this.key = key;
    }
  }

  final String name;
  final SimulatedNode node;
  final SimulatedSocket socket;
  static final int MOST_KEPT = 8;

  private final Queue<Kept> kept = new ArrayDeque<>();
  final Queue<Owed> owed = new ArrayDeque<>();
  final List<Asked> asked = new ArrayList<>();
  private final long connectionNumber;
  private final int side;
  private final RandomGenerator random;
  private final List<Kind> sent = new ArrayList<>();
  private @Nullable SimulatedEnd peer;
  private @Nullable Connection connection;
  private @Nullable EndpointFailure reason;
  private boolean connected;
  private boolean socketDone;
  private int taken;

  /** Makes the handler throw at its next message, after the books are kept. */
  boolean throwNext;

  /** Makes the handler close the connection at its next message. */
  boolean closeNext;

  SimulatedEnd(
      SimulatedNode node,
      SimulatedSocket socket,
      long connectionNumber,
      int side,
      RandomGenerator random) {
    this.node = node;
    this.socket = socket;
    this.connectionNumber = connectionNumber;
    this.side = side;
    this.random = random;
    name = "connection " + connectionNumber + (side == 0 ? "a" : "b");
  }

  void open(Connection opened, SimulatedEnd other) {
    connection = opened;
    peer = other;
  }

  Connection connection() {
    return Objects.requireNonNull(connection);
  }

  private SimulatedEnd peer() {
    return Objects.requireNonNull(peer);
  }

  boolean isOpen() {
    return connection().isOpen();
  }

  boolean hasEnded() {
    return reason != null;
  }

  EndpointFailure reason() {
    return Objects.requireNonNull(reason);
  }

  // ---- sending -------------------------------------------------------------------------------

  /** Returns the key of the next message of this end. */
  long nextKey() {
    return SimulatedMessage.key(connectionNumber, side, sent.size());
  }

  /** Puts a message on record that was accepted. */
  void record(Kind kind) {
    sent.add(kind);
  }

  /** Puts a reply on record that was accepted. */
  void recordReply() {
    record(Kind.REPLY);
  }

  void recordRequest(CompletableFuture<Reply> reply, long key) {
    record(Kind.REQUEST);
    Asked request = new Asked(reply, key);
    asked.add(request);
    var _ = reply.whenComplete((answer, failure) -> ended(request, answer, failure));
  }

  private void ended(Asked request, @Nullable Reply answer, @Nullable Throwable failure) {
    request.endings++;
    if (answer == null) {
      Throwable cause = failure instanceof CompletionException e ? e.getCause() : failure;
      node.simulation.check(
          cause instanceof RequestFailedException
              || cause instanceof java.util.concurrent.CancellationException,
          () -> name + ": a request ended with " + cause);
      return;
    }
    try (answer) {
      long key = SimulatedMessage.replyKey(request.key);
      int expectedBytes = SimulatedMessage.lengthBytes(key, connection().maxMessageBytes());
      node.simulation.check(
          answer.lengthBytes() == expectedBytes
              && SimulatedMessage.mismatch(answer.payload(), 0, key, expectedBytes) < 0,
          () -> name + ": a reply is not the one to its request");
    }
    node.simulation.statistics.replies++;
  }

  int sentCount() {
    return sent.size();
  }

  // ---- receiving -----------------------------------------------------------------------------

  @Override
  public void onConnected(Connection opened) {
    node.simulation.check(!connected && reason == null, () -> name + ": connected again");
    connected = true;
  }

  @Override
  public void onMessage(Connection from, Message message) {
    node.simulation.check(
        connected && reason == null && from == connection(),
        () -> name + ": a message outside of the connection's life");
    List<Kind> record = peer().sent;
    while (taken < record.size() && record.get(taken) == Kind.REPLY) {
      taken++;
    }
    int number = taken++;
    node.simulation.check(
        number < record.size(),
        () -> name + ": message " + number + " arrived, only " + record.size() + " were sent");
    node.simulation.check(
        message.isRequest() == (record.get(number) == Kind.REQUEST),
        () -> name + ": message " + number + " should be a " + record.get(number));
    long key = SimulatedMessage.key(connectionNumber, 1 - side, number);
    int expectedBytes = SimulatedMessage.lengthBytes(key, from.maxMessageBytes());
    node.simulation.check(
        message.lengthBytes() == expectedBytes,
        () ->
            name
                + ": message "
                + number
                + " has "
                + message.lengthBytes()
                + " bytes, not "
                + expectedBytes);
    int mismatch =
        SimulatedMessage.mismatch(message.memory(), message.offset(), key, expectedBytes);
    node.simulation.check(
        mismatch < 0, () -> name + ": message " + number + " differs at byte " + mismatch);
    if (random.nextInt(4) == 0) {
      keep(message, key);
    }
    if (message.isRequest()) {
      owed.add(new Owed(message.correlationId(), key));
      if (random.nextInt(3) == 0) {
        node.answer(this);
      }
    }
    react(from, message.isRequest());
  }

  private void keep(Message message, long key) {
    if (kept.size() == MOST_KEPT) {
      releaseKept();
    }
    RegisteredBuffer lease = node.node.pool().newLease();
    if (message.tryTake(lease)) {
      kept.add(new Kept(lease, key));
      node.simulation.statistics.kept++;
    }
  }

  /** Releases what was kept longest; nobody may have written into it meanwhile. */
  void releaseKept() {
    Kept oldest = kept.poll();
    if (oldest == null) {
      return;
    }
    try (RegisteredBuffer payload = oldest.payload) {
      int expectedBytes = SimulatedMessage.lengthBytes(oldest.key, connection().maxMessageBytes());
      node.simulation.check(
          payload.lengthBytes() == expectedBytes
              && SimulatedMessage.mismatch(payload.segment(), 0, oldest.key, expectedBytes) < 0,
          () -> name + ": a message that was kept has changed");
    }
  }

  /** A throw at a request sends a failure, which is not on record; so it waits for a message. */
  private void react(Connection from, boolean request) {
    if (closeNext) {
      closeNext = false;
      from.close();
    }
    if (throwNext && !request) {
      throwNext = false;
      throw new IllegalStateException("thrown by the simulation");
    }
  }

  @Override
  public void onDisconnected(Connection from, EndpointFailure why) {
    node.simulation.check(reason == null, () -> name + ": disconnected again");
    node.simulation.trace(() -> name + " ended: " + why.kind() + ", " + why.message());
    reason = why;
    while (!kept.isEmpty()) {
      releaseKept();
    }
  }

  /** Reads the control socket in place of the conductor. */
  void readSocket() {
    if (!socketDone && socket.isReadable()) {
      socketDone = !Conductor.readSocket(connection());
    }
  }

  // ---- the books -----------------------------------------------------------------------------

  /** Returns the messages of the peer that have not arrived here. */
  long missing() {
    return peer().sent.size() - connection().receiver().messagesReceived();
  }

  /** Checks that everything the peer has sent was delivered. */
  void checkComplete() {
    long missing = missing();
    node.simulation.check(
        missing == 0,
        () -> name + ": " + missing + " of " + peer().sent.size() + " messages were lost");
  }

  /** Checks what has to hold once the connection has ended, however it did. */
  void checkEnded() {
    node.simulation.statistics.handedOver += connection().status().messagesHandedOver();
    node.simulation.check(reason != null, () -> name + ": never told of its end");
    node.simulation.check(
        missing() >= 0, () -> name + ": " + -missing() + " messages more than were sent");
    for (Asked request : asked) {
      node.simulation.check(
          request.endings == 1 && request.reply.isDone(),
          () -> name + ": a request ended " + request.endings + " times");
    }
    node.simulation.statistics.sent += sent.size();
    node.simulation.statistics.lost += peer == null ? 0 : missing();
  }

  @Override
  public String toString() {
    return name;
  }
}
