package io.rdma4j.transport;

import io.rdma4j.pool.PoolConfig;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.verbs.VerbsSettings;
import io.rdma4j.status.EventJournal;
import io.rdma4j.verbs.Verbs;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * How a node behaves. Immutable; made by {@link #builder()}, which validates and names the property
 * concerned.
 *
 * <p>A connection uses the smaller of both ends' sizes, and the first path in the connecting node's
 * order that both ends have. A list of one path requires it.
 */
public final class NodeConfig {
  /** Who polls the connections. */
  public enum Threading {
    /** The node, on threads of its own. */
    DEDICATED,
    /** The application, by calling {@link Node#poll()}. */
    INVOKER
  }

  /** What the node's pollers do while nothing comes. */
  public enum Waiting {
    /** Never give the core away: lowest latency, one busy core per poller. */
    SPIN,
    /** Spin as long as that pays, at most {@link NodeConfig#spinNs}, then sleep until an event. */
    BACKOFF
  }

  private static final Set<String> KNOWN_PATHS = Set.of("shm", "verbs", "tcp");

  private final @Nullable InetSocketAddress listenAddress;
  private final ConnectionAcceptor acceptor;
  private final List<String> paths;
  private final Threading threading;
  private final Waiting waiting;
  private final long spinNs;
  private final int pollers;
  private final EndpointConfig endpoint;
  private final int requestWindow;
  private final int copyBreakBytes;
  private final int sharedReceives;
  private final long handshakeTimeoutNs;
  private final long heartbeatIntervalNs;
  private final long livenessTimeoutNs;
  private final long closeTimeoutNs;
  private final PoolConfig pool;
  private final @Nullable Path shmDirectory;
  private final @Nullable Path journal;
  private final long journalBytes;
  private final @Nullable Verbs verbs;
  private final List<SharedSecret> secrets;
  private final @Nullable TlsConfig tls;
  private final long resumeTimeoutNs;
  private final long settleTimeNs;
  private final long backoffBaseNs;
  private final long backoffCapNs;

  private NodeConfig(Builder from) {
    listenAddress = from.listenAddress;
    acceptor = from.acceptor;
    paths = List.copyOf(from.paths);
    threading = from.threading;
    waiting = from.waiting;
    spinNs = from.spinNs;
    pollers = from.pollers;
    endpoint = new EndpointConfig(from.maxMessageBytes, from.window, from.ringBytes);
    requestWindow = from.requestWindow;
    copyBreakBytes = from.copyBreakBytes;
    sharedReceives = from.sharedReceives;
    handshakeTimeoutNs = from.handshakeTimeoutNs;
    heartbeatIntervalNs = from.heartbeatIntervalNs;
    livenessTimeoutNs = from.livenessTimeoutNs;
    closeTimeoutNs = from.closeTimeoutNs;
    pool = from.pool;
    shmDirectory = from.shmDirectory;
    journal = from.journal;
    journalBytes = from.journalBytes;
    verbs = from.verbs;
    secrets = List.copyOf(from.secrets);
    tls = from.tls;
    resumeTimeoutNs = from.resumeTimeoutNs;
    settleTimeNs = from.settleTimeNs;
    backoffBaseNs = from.backoffBaseNs;
    backoffCapNs = from.backoffCapNs;
  }

  /** Returns a configuration that connects but does not listen. */
  public static NodeConfig defaults() {
    return builder().build();
  }

  /** Returns a builder with the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** Returns where to listen, or null. */
  public @Nullable InetSocketAddress listenAddress() {
    return listenAddress;
  }

  /** Returns who takes incoming connections. */
  public ConnectionAcceptor acceptor() {
    return acceptor;
  }

  /** Returns the paths in order of preference. */
  public List<String> paths() {
    return paths;
  }

  /** Returns who polls. */
  public Threading threading() {
    return threading;
  }

  /** Returns how pollers wait. */
  public Waiting waiting() {
    return waiting;
  }

  /** Returns how long a poller that may sleep spins before it does, at most. */
  public long spinNs() {
    return spinNs;
  }

  /** Returns the number of pollers of a dedicated node. */
  public int pollers() {
    return pollers;
  }

  /** Returns the sizes this node would take for a connection. */
  public EndpointConfig endpoint() {
    return endpoint;
  }

  /** Returns how many requests of one connection may wait for their reply at a time. */
  public int requestWindow() {
    return requestWindow;
  }

  /** Returns the longest payload that is copied when it is taken, where it could be handed over. */
  public int copyBreakBytes() {
    return copyBreakBytes;
  }

  /** Returns the receives that all peers of a device share at most, 0 when each has its own. */
  public int sharedReceives() {
    return sharedReceives;
  }

  /** Returns the time for a connect with everything in it. */
  public long handshakeTimeoutNs() {
    return handshakeTimeoutNs;
  }

  /** Returns the time between two heartbeats. */
  public long heartbeatIntervalNs() {
    return heartbeatIntervalNs;
  }

  /** Returns how long a peer that sends heartbeats is not heard before that is an event. */
  long silenceNs() {
    return 3 * heartbeatIntervalNs; // so many missed in a row are no delay of the network
  }

  /** Returns the silence after which a peer counts as lost. */
  public long livenessTimeoutNs() {
    return livenessTimeoutNs;
  }

  /** Returns the time a close waits for the peer's goodbye. */
  public long closeTimeoutNs() {
    return closeTimeoutNs;
  }

  /** Returns the pool's configuration. */
  public PoolConfig pool() {
    return pool;
  }

  /** Returns the directory for shared-memory files, or null for anonymous shared memory. */
  public @Nullable Path shmDirectory() {
    return shmDirectory;
  }

  /** Returns the file of the event journal, or null for a journal in memory alone. */
  public @Nullable Path journal() {
    return journal;
  }

  /** Returns the size of a new journal file. */
  public long journalBytes() {
    return journalBytes;
  }

  /** Returns the secret that this node proves when it connects, or null when it needs none. */
  public @Nullable SharedSecret secret() {
    return secrets.isEmpty() ? null : secrets.getFirst();
  }

  /** Returns the secrets of which an incoming connection has to prove one; empty for none. */
  List<SharedSecret> acceptedSecrets() {
    return secrets;
  }

  /** Returns the encryption of the bootstrap connection, or null for none. */
  public @Nullable TlsConfig tls() {
    return tls;
  }

  /** Returns how long a connection outlives its path, 0 when it ends with it. */
  public long resumeTimeoutNs() {
    return resumeTimeoutNs;
  }

  /** Returns how long a path that has ended is left alone. */
  public long settleTimeNs() {
    return settleTimeNs;
  }

  /** Returns the bound of the first wait before a connection is resumed. */
  public long backoffBaseNs() {
    return backoffBaseNs;
  }

  /** Returns the largest bound of those waits. */
  public long backoffCapNs() {
    return backoffCapNs;
  }

  /** Returns the verbs to use instead of the system's, or null. */
  public @Nullable Verbs verbs() {
    return verbs;
  }

  @Override
  public String toString() {
    return """
    NodeConfig[listen=%s, paths=%s, threading=%s, waiting=%s, spinNs=%s, pollers=%s, %s, \
    requestWindow=%s, copyBreakBytes=%s, sharedReceives=%s, handshakeTimeoutNs=%s, \
    heartbeatIntervalNs=%s, livenessTimeoutNs=%s, closeTimeoutNs=%s, secrets=%s, tls=%s, \
    resumeTimeoutNs=%s, settleTimeNs=%s, backoffNs=%s..%s, shmDirectory=%s, journal=%s, %s]\
    """
        .formatted(
            listenAddress,
            paths,
            threading,
            waiting,
            spinNs,
            pollers,
            endpoint,
            requestWindow,
            copyBreakBytes,
            sharedReceives,
            handshakeTimeoutNs,
            heartbeatIntervalNs,
            livenessTimeoutNs,
            closeTimeoutNs,
            secrets.size(),
            tls == null ? "none" : tls.peerNames(),
            resumeTimeoutNs,
            settleTimeNs,
            backoffBaseNs,
            backoffCapNs,
            shmDirectory,
            journal,
            pool);
  }

  /** Collects settings. Single thread only. */
  public static final class Builder {
    private @Nullable InetSocketAddress listenAddress;
    private ConnectionAcceptor acceptor = ConnectionAcceptor.REFUSE;
    private List<String> paths = List.of("shm", "verbs", "tcp");
    private Threading threading = Threading.DEDICATED;
    private Waiting waiting = Waiting.BACKOFF;
    private long spinNs = 50_000L;
    private int pollers = 1;
    private int maxMessageBytes = 64 * 1024;
    private int window = 64;
    private int ringBytes = 1024 * 1024;
    private int requestWindow = 1024;
    private int copyBreakBytes = ReceiveSettings.COPY_BREAK_BYTES.value();
    private int sharedReceives = ReceiveSettings.SHARED_RECEIVES.value();
    private long handshakeTimeoutNs = 5_000_000_000L;
    private long heartbeatIntervalNs = 500_000_000L;
    private long livenessTimeoutNs = 5_000_000_000L;
    private long closeTimeoutNs = 1_000_000_000L;
    private PoolConfig pool = PoolConfig.fromEnvironment();
    private @Nullable Path shmDirectory;
    private @Nullable Path journal;
    private long journalBytes = EventJournal.DEFAULT_FILE_BYTES;
    private @Nullable Verbs verbs;
    private List<SharedSecret> secrets = List.of();
    private @Nullable TlsConfig tls;
    private long resumeTimeoutNs;
    private long settleTimeNs = 5_000_000_000L;
    private long backoffBaseNs = 100_000_000L;
    private long backoffCapNs = 5_000_000_000L;

    private Builder() {}

    /** Listens on an address; port 0 takes a free one. */
    public Builder listen(InetSocketAddress address, ConnectionAcceptor acceptor) {
      this.listenAddress = address;
      this.acceptor = acceptor;
      return this;
    }

    /** Sets the paths allowed, in order of preference; a single one is required. */
    public Builder paths(String... names) {
      this.paths = List.of(names);
      return this;
    }

    /** Sets who polls. */
    public Builder threading(Threading threading) {
      this.threading = threading;
      return this;
    }

    /** Sets how pollers wait. */
    public Builder waiting(Waiting waiting) {
      this.waiting = waiting;
      return this;
    }

    /**
     * Sets how long a poller with {@link Waiting#BACKOFF} spins before it sleeps, at most. It
     * learns to spin less while sleeps turn out long.
     */
    public Builder spin(Duration longest) {
      this.spinNs = longest.toNanos();
      return this;
    }

    /** Sets the number of pollers of a dedicated node; connections are spread over them. */
    public Builder pollers(int pollers) {
      this.pollers = pollers;
      return this;
    }

    /** Sets the largest message this node takes. */
    public Builder maxMessageBytes(int maxMessageBytes) {
      this.maxMessageBytes = maxMessageBytes;
      return this;
    }

    /** Sets how many messages may be under way in one direction. */
    public Builder window(int messages) {
      this.window = messages;
      return this;
    }

    /** Sets the bytes that may be under way in one direction on shm and tcp. */
    public Builder ringBytes(int ringBytes) {
      this.ringBytes = ringBytes;
      return this;
    }

    /**
     * Sets how many requests of one connection may wait for their reply at a time; blocking ones
     * wait for a place, the others are refused with {@link io.rdma4j.SendResult#WINDOW_FULL}.
     */
    public Builder requestWindow(int requests) {
      this.requestWindow = requests;
      return this;
    }

    /**
     * Sets the longest payload that {@link Message#tryTake} copies where it could hand the block
     * over; by default 4096, or what the system property {@code rdma4j.receive.copyBreakBytes} or
     * the environment variable {@code RDMA4J_RECEIVE_COPY_BREAK_BYTES} says. A copy costs time; a
     * short message that is handed over keeps a block for the largest one from everybody else.
     */
    public Builder copyBreakBytes(int bytes) {
      this.copyBreakBytes = bytes;
      return this;
    }

    /**
     * Lets all peers of a device share receives, for nodes with many of them; by default 0, or what
     * {@code rdma4j.verbs.sharedReceives} or {@code RDMA4J_VERBS_SHARED_RECEIVES} says.
     *
     * <p>With 0 each connection over verbs has {@link #window} receives and 3 more, each of {@link
     * #maxMessageBytes}, whether it is used or not. Shared ones are made as they are needed, up to
     * this number for each device: 7 for a connection that is quiet, and more for those that
     * receive, up to their window. A peer is told how many messages it may send, so a message
     * always finds a receive. When all are taken another connection over verbs is refused.
     *
     * @param receives 0, or 64 to 65536
     */
    public Builder sharedReceives(int receives) {
      this.sharedReceives = receives;
      return this;
    }

    /** Sets the time for a connect with everything in it. */
    public Builder handshakeTimeout(Duration timeout) {
      this.handshakeTimeoutNs = timeout.toNanos();
      return this;
    }

    /** Sets the time between heartbeats, and the silence after which a peer counts as lost. */
    public Builder liveness(Duration heartbeatInterval, Duration timeout) {
      this.heartbeatIntervalNs = heartbeatInterval.toNanos();
      this.livenessTimeoutNs = timeout.toNanos();
      return this;
    }

    /** Sets the time a close waits for the peer. */
    public Builder closeTimeout(Duration timeout) {
      this.closeTimeoutNs = timeout.toNanos();
      return this;
    }

    /** Configures the pool; by default {@link PoolConfig#fromEnvironment}. */
    public Builder pool(PoolConfig pool) {
      this.pool = pool;
      return this;
    }

    /**
     * Keeps shared-memory files in a directory instead of anonymous memory; by default the one that
     * the system property {@code rdma4j.shm.directory} names, if any.
     */
    public Builder shmDirectory(Path directory) {
      this.shmDirectory = directory;
      return this;
    }

    /**
     * Keeps events and incidents in a file too, which can be read after a crash; one that exists is
     * continued. One node at a time writes a file.
     */
    public Builder journal(Path file) {
      this.journal = file;
      return this;
    }

    /** Sets the size of a new journal file, 64 KiB or more; it is taken at once and never grows. */
    public Builder journalBytes(long bytes) {
      this.journalBytes = bytes;
      return this;
    }

    /**
     * Has both ends of every connection prove that they know a secret; who can not is shown out.
     *
     * <p>To change the secret of a running cluster, first let all nodes accept the new one as well,
     * then let them prove the new one and accept the old one, then drop the old one.
     *
     * @param proven what this node proves, and accepts
     * @param alsoAccepted what it accepts besides from those who connect
     */
    public Builder secret(SharedSecret proven, SharedSecret... alsoAccepted) {
      this.secrets = Stream.concat(Stream.of(proven), Arrays.stream(alsoAccepted)).toList();
      return this;
    }

    /** Encrypts and authenticates the bootstrap connection; both ends need it. */
    public Builder tls(TlsConfig tls) {
      this.tls = tls;
      return this;
    }

    /**
     * Lets connections outlive their path, where both nodes ask for that: when it ends, the node
     * that connected looks for another one, and comes back to a better one that was lost once it
     * has settled. Every message is delivered once and in order, whatever the paths do, as long as
     * both processes live and a path comes up in time; meanwhile sends are back-pressured. Messages
     * are kept until the peer has acknowledged them, for which each connection takes two rings of
     * memory.
     *
     * @param timeout how long a connection waits for another path, and an attempt to find one takes
     *     at most; 0, the default, ends it with its path
     * @param settleTime how long a path that has ended is the last choice
     */
    public Builder resume(Duration timeout, Duration settleTime) {
      this.resumeTimeoutNs = timeout.toNanos();
      this.settleTimeNs = settleTime.toNanos();
      return this;
    }

    /** Bounds the random waits before attempts to resume: the first one, and the longest. */
    public Builder backoff(Duration base, Duration cap) {
      this.backoffBaseNs = base.toNanos();
      this.backoffCapNs = cap.toNanos();
      return this;
    }

    /** Uses the given verbs instead of the system's libibverbs, for tests. */
    public Builder verbs(Verbs verbs) {
      this.verbs = verbs;
      return this;
    }

    /** Validates and builds. */
    public NodeConfig build() {
      require(!paths.isEmpty(), "paths", paths, "at least one of " + KNOWN_PATHS);
      for (String path : paths) {
        require(KNOWN_PATHS.contains(path), "paths", path, "one of " + KNOWN_PATHS);
      }
      require(new LinkedHashSet<>(paths).size() == paths.size(), "paths", paths, "each path once");
      require(
          listenAddress == null || !listenAddress.isUnresolved(),
          "listen",
          String.valueOf(listenAddress),
          "an address of a known host");
      require(spinNs >= 0 && spinNs <= 1_000_000_000L, "spin", spinNs, "0 to 1 s, in ns");
      require(pollers >= 1 && pollers <= 256, "pollers", pollers, "1 to 256");
      require(
          maxMessageBytes >= 1 && maxMessageBytes <= 1 << 24,
          "maxMessageBytes",
          maxMessageBytes,
          "1 to 16777216");
      int largestBlockBytes = Arrays.stream(pool.blockSizes()).max().orElse(0);
      require(
          maxMessageBytes <= largestBlockBytes,
          "maxMessageBytes",
          maxMessageBytes,
          "at most the pool's largest block, " + largestBlockBytes + " bytes");
      require(window >= 4 && window <= 16_384, "window", window, "4 to 16384");
      require(
          ringBytes >= 4L * maxMessageBytes,
          "ringBytes",
          ringBytes,
          "at least 4 * maxMessageBytes = " + 4L * maxMessageBytes);
      require(
          requestWindow >= 1 && requestWindow <= RequestTable.MAX_SLOTS,
          "requestWindow",
          requestWindow,
          "1 to " + RequestTable.MAX_SLOTS);
      require(copyBreakBytes >= 0, "copyBreakBytes", copyBreakBytes, "0 or more");
      require(
          sharedReceives == 0
              || (sharedReceives >= VerbsSettings.LEAST_SHARED_RECEIVES
                  && sharedReceives <= VerbsSettings.MAX_SHARED_RECEIVES),
          "sharedReceives",
          sharedReceives,
          "0, or "
              + VerbsSettings.LEAST_SHARED_RECEIVES
              + " to "
              + VerbsSettings.MAX_SHARED_RECEIVES);
      require(
          pool.receiveReserveBlocks() == 0
              || !paths.contains("verbs")
              || pool.receiveBlockSize() >= maxMessageBytes,
          "pool.receiveBlockSize",
          pool.receiveBlockSize(),
          "at least maxMessageBytes, "
              + maxMessageBytes
              + ", since every receive has to hold that");
      require(handshakeTimeoutNs > 0, "handshakeTimeout", handshakeTimeoutNs, "above 0");
      require(heartbeatIntervalNs > 0, "heartbeatInterval", heartbeatIntervalNs, "above 0");
      require(
          livenessTimeoutNs >= 2 * heartbeatIntervalNs,
          "livenessTimeout",
          livenessTimeoutNs,
          "at least twice the heartbeat interval");
      require(closeTimeoutNs > 0, "closeTimeout", closeTimeoutNs, "above 0");
      require(
          journalBytes >= 1 << 16 && journalBytes <= 1 << 30,
          "journalBytes",
          journalBytes,
          "65536 to 1073741824");
      require(resumeTimeoutNs >= 0, "resumeTimeout", resumeTimeoutNs, "0 or more");
      require(settleTimeNs >= 0, "settleTime", settleTimeNs, "0 or more");
      require(backoffBaseNs > 0, "backoffBase", backoffBaseNs, "above 0");
      require(
          backoffCapNs >= backoffBaseNs && backoffCapNs < 1L << 62,
          "backoffCap",
          backoffCapNs,
          "at least the base, " + backoffBaseNs);
      return new NodeConfig(this);
    }

    private static void require(boolean holds, String property, Object value, String allowed) {
      if (!holds) {
        throw new IllegalArgumentException(
            "NodeConfig." + property + " is " + value + ", allowed: " + allowed);
      }
    }
  }
}
