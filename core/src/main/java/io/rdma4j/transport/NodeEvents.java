package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.diagnosis.Facts;
import io.rdma4j.diagnosis.FaultDigest;
import io.rdma4j.diagnosis.Watch;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a node tells of itself: the journal, the watch over it, and the events of connections. Any
 * thread; nothing here is called for a message.
 */
final class NodeEvents {
  private static final Logger LOG = System.getLogger(NodeEvents.class.getName());

  /** A connection on a slower path than its first one has this long to come back. */
  private static final long DEGRADED_AFTER_NS = 30_000_000_000L;

  private final EventJournal journal;
  private final NanoClock clock;
  private @Nullable Watch watch;

  NodeEvents(EventJournal journal, NanoClock clock) {
    this.journal = journal;
    this.clock = clock;
  }

  /** Opens the journal that a configuration asks for. */
  static NodeEvents open(NodeConfig config, NanoClock clock) {
    Path file = config.journal();
    if (file == null) {
      return new NodeEvents(EventJournal.inMemory(clock), clock);
    }
    try {
      return new NodeEvents(EventJournal.open(file, config.journalBytes(), clock), clock);
    } catch (IOException e) {
      throw new Rdma4jException("the journal can not be opened: " + e.getMessage(), e);
    }
  }

  EventJournal journal() {
    return journal;
  }

  /** Starts to watch a node, on a thread. */
  void startWatch(Node node, String threadName) {
    PoolFacts pool = new PoolFacts(SystemRoot.host(), devicesOf(node));
    Watch started = new Watch(journal, facts -> addFacts(node, pool, facts), clock);
    watch = started;
    started.start(threadName);
  }

  private static List<String> devicesOf(Node node) {
    return Providers.registrars(node.providers()).stream().map(MemoryRegistrar::name).toList();
  }

  private void addFacts(Node node, PoolFacts pool, Facts.Builder facts) {
    long nowNs = clock.nanoTime();
    pool.addTo(facts, node.pool().statistics(), nowNs);
    facts.set("config.verbs_usable", node.isUsable("verbs") ? 1 : 0);
    facts.set(
        "app.degraded_connections",
        (double)
            node.connectionsNow().stream()
                .filter(connection -> connection.current().isDegraded(nowNs - DEGRADED_AFTER_NS))
                .count());
  }

  // ---- connections ------------------------------------------------------------------------------

  static EventSubject subject(EventSubject ofPath, long id, InetSocketAddress peer) {
    InetAddress address = peer.getAddress();
    String host = address == null ? peer.getHostString() : address.getHostAddress();
    return ofPath.of(id, host + ":" + peer.getPort());
  }

  void opened(Connection connection) {
    emit(EventKind.CONNECTION_OPENED, connection, 0, connection.path().description());
  }

  void ended(Connection connection, EndpointFailure reason) {
    boolean inOrder = reason.kind() == Kind.PEER_CLOSED;
    EventKind kind = inOrder ? EventKind.CONNECTION_CLOSED : EventKind.CONNECTION_LOST;
    emit(kind, connection, 0, reason.message());
  }

  void pathEnded(Connection connection, EndpointFailure cause) {
    boolean inOrder = cause.kind() == Kind.PEER_CLOSED;
    EventKind kind = inOrder ? EventKind.PATH_LEFT : EventKind.PATH_LOST;
    emit(kind, connection, 0, cause.message());
  }

  void moved(Connection connection, int pathChanges) {
    emit(EventKind.PATH_MOVED, connection, pathChanges, "to " + connection.path().description());
  }

  void silent(Connection connection, long silentMs) {
    emit(EventKind.PEER_SILENT, connection, silentMs, "nothing heard for " + silentMs + " ms");
  }

  void heardAgain(Connection connection, long silentMs) {
    emit(EventKind.PEER_HEARD, connection, silentMs, "after " + silentMs + " ms");
  }

  void goodbyeUnanswered(Connection connection) {
    long waitedMs = connection.node().config().closeTimeoutNs() / 1_000_000;
    emit(EventKind.GOODBYE_UNANSWERED, connection, waitedMs, "within " + waitedMs + " ms");
  }

  void socketClosed(Connection connection, String how) {
    emit(EventKind.PEER_SOCKET_CLOSED, connection, 0, how);
  }

  void digest(Connection connection, byte[] told) {
    int length = Math.min(told.length, FaultDigest.MAX_BYTES);
    String text = new String(told, 0, length, StandardCharsets.UTF_8);
    emit(EventKind.PEER_DIGEST, connection, 0, text);
  }

  private void emit(EventKind kind, Connection connection, long value, String text) {
    journal.emit(kind, connection.subject(), 0, 0, value, text);
  }

  /**
   * Tells the peer what this end saw of a fault, as the last thing on the control socket, and
   * leaves the socket to the conductor, which hears what the peer has to tell.
   */
  void part(Connection connection, ControlSocket control) {
    Watch telling = watch;
    if (telling == null || control.carriesMessages()) {
      control.close();
      return;
    }
    EventSubject subject = connection.subject();
    connection.node().conductor().linger(connection, control);
    telling.digest(subject, digest -> control.sendLast(digest.getBytes(StandardCharsets.UTF_8)));
  }

  /** Ends the watch, then the journal; what is open in it is closed. */
  void close() {
    if (watch != null) {
      watch.close();
    }
    try {
      journal.close();
    } catch (IOException e) {
      LOG.log(Level.WARNING, "closing the journal " + journal.path() + " failed", e);
    }
  }
}
