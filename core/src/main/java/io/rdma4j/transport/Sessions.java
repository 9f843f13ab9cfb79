package io.rdma4j.transport;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The connections of a node that may be resumed, by the name that both ends have for each, and the
 * incoming ones that are to become such.
 *
 * <p>The initiator has its connection as soon as the path is negotiated, and may lose that path at
 * once; the acceptor has one only when its application has decided. So an {@link Arrival} lets a
 * peer that comes back in between wait, instead of hearing that nobody knows its connection.
 *
 * <p>Safe for use by several threads; each arrival is one thread's.
 */
final class Sessions {
  private final Map<ByteBuffer, Resumption> resumable = new ConcurrentHashMap<>();
  private final Map<ByteBuffer, CountDownLatch> undecided = new ConcurrentHashMap<>();

  /** Lets a peer resume a connection. */
  void remember(Resumption resumption) {
    resumable.put(ByteBuffer.wrap(resumption.session()), resumption);
  }

  /** Lets nobody resume it any more: it has ended. */
  void forget(Resumption resumption) {
    resumable.remove(ByteBuffer.wrap(resumption.session()));
  }

  /** Returns the connection of that name, or null when it has ended. */
  @Nullable Resumption find(byte[] session) {
    return resumable.get(ByteBuffer.wrap(session));
  }

  /**
   * Returns whether a peer has a connection by that name here; waits while that is undecided.
   *
   * @throws IOException when that is still so at {@code deadlineNs}: the peer may ask again
   */
  boolean has(byte[] session, byte[] peerNode, long deadlineNs) throws IOException {
    // In this order: what is decided between the two looks is found by the second one.
    CountDownLatch decision = undecided.get(ByteBuffer.wrap(session));
    if (decision != null) {
      await(decision, deadlineNs - System.nanoTime());
    }
    Resumption resumption = find(session);
    return resumption != null && resumption.isWith(peerNode);
  }

  private static void await(CountDownLatch decision, long timeoutNs) throws IOException {
    try {
      if (!decision.await(timeoutNs, TimeUnit.NANOSECONDS)) {
        throw new IOException(
            "the connection to be resumed is not accepted yet: its ConnectionAcceptor is at work");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while the connection was being accepted");
    }
  }

  /** Begins an incoming handshake. */
  Arrival arrival() {
    return new Arrival();
  }

  /** One incoming handshake, which may become a connection of a name. */
  final class Arrival implements AutoCloseable {
    private final CountDownLatch decision = new CountDownLatch(1);
    private @Nullable ByteBuffer name;

    Sessions sessions() {
      return Sessions.this;
    }

    /** Lets peers that ask for that connection wait. Before the initiator can think it has it. */
    void announce(byte[] session) {
      name = ByteBuffer.wrap(session);
      undecided.put(name, decision);
    }

    /** The connection is remembered, or there will be none. */
    @Override
    public void close() {
      if (name != null) {
        undecided.remove(name, decision);
        decision.countDown();
      }
    }
  }
}
