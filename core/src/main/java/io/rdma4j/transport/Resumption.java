package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.concurrent.Threads;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Bootstrap.Established;
import io.rdma4j.transport.internal.BootstrapChannel;
import io.rdma4j.transport.internal.BootstrapChannel.ProtocolException;
import io.rdma4j.transport.internal.BootstrapChannel.RefusedException;
import io.rdma4j.transport.internal.PathNegotiation;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Brings one connection onto another path: when the one it has ends, and when a better one that had
 * failed has had time to settle. The end that made the connection starts the attempts; the other
 * one answers.
 *
 * <p>{@link #housekeep} by the conductor; attempts run on a thread of their own, one at a time;
 * {@link #move} by whoever did the handshake.
 */
final class Resumption {
  private static final Logger LOG = System.getLogger(Resumption.class.getName());
  private static final long WAIT_STEP_NS = 200_000;
  private static final EndpointFailure REPLACED =
      new EndpointFailure(EndpointFailure.Kind.PEER_CLOSED, "another path takes over");

  private final Node node;
  private final Connection connection;
  private final ResumableEndpoint endpoint;
  private final byte[] session;
  private final byte[] peerNode;

  /** Where to connect to; null at the end that answers. */
  private final @Nullable InetSocketAddress peer;

  private final Backoff backoff;

  /** When which path ended last: it comes last until it has settled. */
  private final Map<String, Long> endedAtNs = new ConcurrentHashMap<>();

  private volatile boolean attempting;
  private volatile long nextAttemptNs;
  private boolean scheduled;

  Resumption(
      Node node,
      Connection connection,
      ResumableEndpoint endpoint,
      byte[] session,
      byte[] peerNode,
      @Nullable InetSocketAddress peer) {
    this.node = node;
    this.connection = connection;
    this.endpoint = endpoint;
    this.session = session;
    this.peerNode = peerNode;
    this.peer = peer;
    NodeConfig config = node.config();
    backoff = new Backoff(config.backoffBaseNs(), config.backoffCapNs(), new SplittableRandom());
  }

  byte[] session() {
    return session;
  }

  /** Returns whether the other end is on that node. */
  boolean isWith(byte[] nodeId) {
    return Arrays.equals(peerNode, nodeId);
  }

  /** Notes that a path has ended. Polling thread. */
  void pathEnded(String name, EndpointFailure cause) {
    if (!cause.equals(REPLACED)) {
      endedAtNs.put(name, node.clockNs());
    }
  }

  /** Starts an attempt when one is due. */
  void housekeep(long nowNs) {
    InetSocketAddress to = peer;
    if (to == null || attempting || endpoint.isEnding()) {
      return;
    }
    if (endpoint.isSuspended()) {
      if (!scheduled) {
        scheduled = true;
        nextAttemptNs = nowNs + backoff.nextDelayNs();
      }
      if (nowNs - nextAttemptNs >= 0) {
        start(to, pathsNow(nowNs), false);
      }
      return;
    }
    if (endpoint.isActive()) {
      scheduled = false;
      backoff.reset();
      List<String> better = betterPaths(nowNs);
      if (!better.isEmpty()) {
        start(to, better, true);
      }
    }
  }

  /**
   * Returns all paths, those that ended a short while ago last, the latest of them at the end. The
   * one just lost is among these however long ago that was: nothing has shown since that it carries
   * again, and one that swallows packets costs an attempt half of its time.
   */
  private List<String> pathsNow(long nowNs) {
    String lost = connection.path().name();
    List<String> settled = new ArrayList<>();
    List<String> unsettled = new ArrayList<>();
    for (String name : node.config().paths()) {
      (isSettled(name, nowNs) && !name.equals(lost) ? settled : unsettled).add(name);
    }
    unsettled.sort(Comparator.comparingLong(name -> endedAtNs.getOrDefault(name, nowNs) - nowNs));
    settled.addAll(unsettled);
    return settled;
  }

  /**
   * Returns the paths before the present one that this connection has lost and that have settled.
   */
  private List<String> betterPaths(long nowNs) {
    List<String> better = new ArrayList<>();
    for (String name : node.config().paths()) {
      if (name.equals(connection.path().name())) {
        break;
      }
      if (endedAtNs.containsKey(name) && isSettled(name, nowNs)) {
        better.add(name);
      }
    }
    return better;
  }

  private boolean isSettled(String name, long nowNs) {
    Long endedNs = endedAtNs.get(name);
    return endedNs == null || nowNs - endedNs >= node.config().settleTimeNs();
  }

  private void start(InetSocketAddress to, List<String> paths, boolean upgrade) {
    attempting = true;
    try {
      Threads.startDaemon("rdma4j-resume", () -> attempt(to, paths, upgrade));
    } catch (Rdma4jException e) {
      inVain(paths, e);
      attempted(paths, upgrade);
    }
  }

  private void attempt(InetSocketAddress to, List<String> paths, boolean upgrade) {
    try {
      node.handshakes().resume(to, this, paths);
    } catch (RefusedException e) {
      if (!upgrade) {
        endpoint
            .suspension()
            .giveUp(
                new EndpointFailure(
                    EndpointFailure.Kind.PEER_LOST,
                    "the peer does not know the connection any more: " + e.getMessage()));
      }
    } catch (IOException | RuntimeException e) {
      inVain(paths, e);
    } finally {
      attempted(paths, upgrade);
    }
  }

  private void inVain(List<String> paths, Exception e) {
    LOG.log(Level.DEBUG, () -> connection + " could not be moved to one of " + paths, e);
    endpoint.suspension().noteAttempt(paths + ": " + (e.getMessage() == null ? e : e.getMessage()));
  }

  private void attempted(List<String> paths, boolean upgrade) {
    long nowNs = node.clockNs();
    if (upgrade) {
      paths.forEach(name -> endedAtNs.computeIfPresent(name, (path, before) -> nowNs));
    }
    nextAttemptNs = nowNs + backoff.nextDelayNs();
    attempting = false;
  }

  /**
   * Moves the connection to a path that both ends have set up: ends the one before, tells the peer
   * what was delivered, and hands the new one to the poller. Owns the path from here on.
   */
  void move(Established established, PathChoice choice) throws IOException {
    boolean moved = false;
    try {
      BootstrapChannel channel = established.channel();
      SocketChannel socket = channel.socket();
      boolean blocking = socket.isBlocking();
      socket.configureBlocking(true);
      awaitSuspension(channel.deadlineNs());
      long delivered = endpoint.delivered();
      channel.send(
          BootstrapChannel.Kind.DELIVERED,
          ByteBuffer.allocate(Long.BYTES).putLong(delivered).array());
      byte[] answer = channel.expect(BootstrapChannel.Kind.DELIVERED);
      if (answer.length != Long.BYTES) {
        throw new ProtocolException("a count of " + answer.length + " bytes");
      }
      socket.configureBlocking(blocking);
      moved = connection.current().moveTo(established, choice, ByteBuffer.wrap(answer).getLong());
      if (!moved) {
        throw new IOException("the connection has ended meanwhile");
      }
      endedAtNs.remove(choice.name());
    } finally {
      if (!moved) {
        established.result().endpoint().close(PathNegotiation.discarding());
        established.socket().close();
      }
    }
  }

  private void awaitSuspension(long deadlineNs) throws IOException {
    while (!endpoint.isSuspended()) {
      if (!endpoint.requestSuspension(REPLACED)) {
        throw new IOException("the connection is closing");
      }
      connection.poller().wakeUp();
      if (node.clockNs() - deadlineNs >= 0) {
        throw new IOException("the poller did not end the path before in time");
      }
      LockSupport.parkNanos(WAIT_STEP_NS);
    }
  }
}
