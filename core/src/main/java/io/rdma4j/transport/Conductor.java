package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.concurrent.Threads;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The node's background agent: accepts bootstrap connections, watches the control sockets, and
 * keeps house for every connection about fifty times a second. It never touches the data path.
 */
final class Conductor {
  private static final Logger LOG = System.getLogger(Conductor.class.getName());

  /** Bounds how late a deadline, a silent peer or a device event is seen. */
  private static final long TICK_MS = 20;

  private static final long CLOSE_TIMEOUT_NS = 1_000_000_000L;

  /** The log waits as long for a cause, and the peer's word may have it. */
  private static final long LEAST_PARTING_NS = 3_000_000_000L;

  /** A control socket outlives its connection for so long at most, however rare heartbeats are. */
  private static final long MOST_PARTING_NS = 10_000_000_000L;

  /** A control socket that outlives its connection until both ends have told what they saw. */
  private static final class Parting {
    private final Connection connection;
    private final ControlSocket control;
    private final long untilNs;

    /** The conductor's thread only. */
    private boolean peerIsDone;

    private Parting(Connection connection, ControlSocket control, long untilNs) {
      this.connection = connection;
      this.control = control;
      this.untilNs = untilNs;
    }

    private boolean isOver(long nowNs) {
      return control.isClosed() || (peerIsDone && control.hasSentLast()) || nowNs - untilNs >= 0;
    }
  }

  private final Node node;
  private final Selector selector;
  private final @Nullable ServerSocketChannel listener;
  private final Consumer<SocketChannel> onAccept;
  private final Queue<Connection> toWatch = new ConcurrentLinkedQueue<>();
  private final Queue<Connection> toWatchOnce = new ConcurrentLinkedQueue<>();
  private final Queue<Parting> toPart = new ConcurrentLinkedQueue<>();
  private final List<Parting> parting = new ArrayList<>();
  private final Thread thread;
  private volatile boolean running = true;

  /** Number of the latest event when pollers were woken last. This thread only. */
  private long wokenForEvent;

  Conductor(
      Node node,
      @Nullable InetSocketAddress listenAddress,
      String threadName,
      Consumer<SocketChannel> onAccept)
      throws IOException {
    this.node = node;
    this.onAccept = onAccept;
    selector = Selector.open();
    try {
      listener = listenAddress == null ? null : listen(listenAddress);
    } catch (IOException | RuntimeException e) {
      selector.close();
      throw e;
    }
    thread = Thread.ofPlatform().name(threadName).daemon(true).unstarted(this::run);
  }

  private ServerSocketChannel listen(InetSocketAddress address) throws IOException {
    ServerSocketChannel channel = ServerSocketChannel.open();
    try {
      channel.bind(address, 128);
      channel.configureBlocking(false);
      channel.register(selector, SelectionKey.OP_ACCEPT);
      return channel;
    } catch (IOException | RuntimeException e) {
      channel.close();
      throw new IOException("cannot listen on " + address + ": " + e.getMessage(), e);
    }
  }

  void start() {
    thread.start();
  }

  @Nullable InetSocketAddress listenAddress() {
    return listener == null ? null : (InetSocketAddress) listener.socket().getLocalSocketAddress();
  }

  /** Watches the control socket of a connection from now on. */
  void watch(Connection connection) {
    if (!connection.control().carriesMessages()) {
      toWatch.add(connection);
      selector.wakeup();
    }
  }

  /** Wakes the poller of a connection whose socket carries the messages when something comes. */
  void watchOnce(Connection connection) {
    if (connection.control().startWatching()) {
      toWatchOnce.add(connection);
      selector.wakeup();
    }
  }

  private void run() {
    while (running) {
      try {
        registerNew();
        selector.select(this::handle, TICK_MS);
        long nowNs = node.clockNs();
        node.housekeepProviders(nowNs);
        endParted(nowNs);
        for (Connection connection : node.connectionsNow()) {
          connection.housekeep(nowNs);
        }
        wakePollersAfterEvents();
      } catch (IOException | RuntimeException e) {
        LOG.log(Level.ERROR, "the conductor caught an unexpected failure and goes on", e);
      }
    }
  }

  /**
   * What a device or rdma_cm has announced ends a connection in its next poll, which a sleeping
   * poller is not to make when its sleep is over only.
   */
  private void wakePollersAfterEvents() {
    long latest = node.events().journal().lastSequence();
    if (latest != wokenForEvent) {
      wokenForEvent = latest;
      for (Connection connection : node.connectionsNow()) {
        connection.poller().wakeUp();
      }
    }
  }

  /**
   * Takes over the control socket of a connection that has ended, until both ends have told what
   * they saw, or nobody waits for the peer's word any more.
   */
  void linger(Connection connection, ControlSocket control) {
    long patienceNs = Math.clamp(node.config().silenceNs(), LEAST_PARTING_NS, MOST_PARTING_NS);
    toPart.add(new Parting(connection, control, node.clockNs() + patienceNs));
    if (running) {
      selector.wakeup();
    } else {
      endAllParted(); // nobody reads what the peer has to tell
    }
  }

  private void endParted(long nowNs) {
    for (Parting parted : List.copyOf(parting)) {
      if (parted.isOver(nowNs)) {
        parted.control.close();
        parting.remove(parted);
      }
    }
  }

  /** Closes what lingers, also when it was left after the conductor had ended. */
  private void endAllParted() {
    for (Parting next; (next = toPart.poll()) != null; ) {
      next.control.close();
    }
  }

  private void registerParting() throws IOException {
    for (Parting next; (next = toPart.poll()) != null; ) {
      parting.add(next);
      SocketChannel socket = next.control.socket();
      try {
        socket.configureBlocking(false);
        SelectionKey key = socket.keyFor(selector);
        if (key == null) {
          socket.register(selector, SelectionKey.OP_READ, next);
        } else {
          key.attach(next);
        }
      } catch (CancelledKeyException e) {
        LOG.log(Level.TRACE, "a control socket was read to its end before it was left", e);
        next.peerIsDone = true;
      } catch (ClosedChannelException e) {
        LOG.log(Level.TRACE, "a control socket was closed before it was left", e);
      }
    }
  }

  private void registerNew() throws IOException {
    registerParting();
    register(toWatch);
    register(toWatchOnce);
  }

  private void register(Queue<Connection> from) throws IOException {
    for (Connection next; (next = from.poll()) != null; ) {
      SocketChannel socket = next.control().socket();
      try {
        if (socket.isOpen()) {
          socket.configureBlocking(false);
          socket.register(selector, SelectionKey.OP_READ, next);
        }
      } catch (ClosedChannelException e) {
        LOG.log(Level.DEBUG, next + " ended before its socket was watched", e);
      }
    }
  }

  private void handle(SelectionKey key) {
    if (!key.isValid()) {
      return;
    }
    if (key.attachment() instanceof Parting parted) {
      readParting(key, parted);
    } else if (key.attachment() instanceof Connection connection) {
      ControlSocket control = connection.control();
      if (!key.channel().equals(control.socket())) {
        // The connection has moved on, and the end of a socket that it has left means nothing.
        key.cancel();
      } else if (control.carriesMessages()) {
        quieten(key);
        control.stopWatching();
      } else {
        watchSocket(key, connection);
      }
      connection.poller().wakeUp();
    } else {
      accept();
    }
  }

  private static void readParting(SelectionKey key, Parting parted) {
    boolean open;
    try {
      open = parted.control.readFrames();
      takeDigest(parted.connection, parted.control);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "the peer of " + parted.connection + " tells nothing more", e);
      open = false;
    }
    if (!open) {
      key.cancel();
      parted.peerIsDone = true;
    }
  }

  private static void takeDigest(Connection connection, ControlSocket control) {
    byte[] told = control.takeDigest();
    if (told != null) {
      connection.node().events().digest(connection, told);
    }
  }

  private static void quieten(SelectionKey key) {
    try {
      key.interestOps(0);
    } catch (CancelledKeyException e) {
      LOG.log(Level.TRACE, "a socket was closed while it was watched; its poller knows", e);
    }
  }

  private static void watchSocket(SelectionKey key, Connection connection) {
    if (!readSocket(connection)) {
      key.cancel();
    }
  }

  /** Reads what has come on a control socket; false when nothing will come any more. */
  static boolean readSocket(Connection connection) {
    ControlSocket control = connection.control();
    String how;
    try {
      boolean open = control.readFrames();
      takeDigest(connection, control);
      if (open) {
        return true;
      }
      how = connection.peerAddress() + " closed the bootstrap connection";
    } catch (IOException e) {
      how = "bootstrap connection to " + connection.peerAddress() + ": " + e;
    }
    connection.liveness().socketEnded(control, how);
    return false;
  }

  private void accept() {
    ServerSocketChannel from = listener;
    if (from == null) {
      return;
    }
    try {
      for (SocketChannel socket; (socket = from.accept()) != null; ) {
        onAccept.accept(socket);
      }
    } catch (IOException e) {
      // Out of descriptors, for example: say so and give others time to free some.
      LOG.log(Level.WARNING, "accepting on " + listenAddress() + " failed", e);
      java.util.concurrent.locks.LockSupport.parkNanos(100_000_000L);
    }
  }

  /** Stops listening; connections stay. */
  void stopListening() {
    close(listener);
    selector.wakeup();
  }

  /** Ends the thread. */
  void close() {
    running = false;
    selector.wakeup();
    boolean ended = Threads.join(thread, CLOSE_TIMEOUT_NS);
    endAllParted();
    List.copyOf(parting).forEach(parted -> parted.control.close());
    close(listener);
    close(selector);
    if (!ended) {
      throw new Rdma4jException("the conductor is stuck in a continuation of a request");
    }
  }

  private static void close(@Nullable AutoCloseable resource) {
    if (resource != null) {
      try {
        resource.close();
      } catch (Exception e) {
        LOG.log(Level.WARNING, "closing " + resource + " failed", e);
      }
    }
  }
}
