package io.rdma4j.monitor;

import com.sun.net.httpserver.HttpServer;
import io.rdma4j.Rdma4jException;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.StatusRegistry;
import io.rdma4j.status.StatusRegistry.Registration;
import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP server that shows a node to operators.
 *
 * <pre>
 *  /                live dashboard
 *  /vars            metrics, one on a line: /vars/rdma_mem*, /vars?filter=*ratio,*bytes
 *  /metrics         metrics for Prometheus, as its text or as OpenMetrics
 *  /health          how the node is; status 503 when it is failing
 *  /connections /pool /paths /ports and every other table of the registry
 *  /incidents       what went wrong, why, and what to do; /events has the single events
 *  /history         the charts' figures of the last five minutes, JSON
 *  /stream          what the dashboard shows, each second, as server-sent events
 * </pre>
 *
 * <p>All but the last two are text, or JSON for {@code ?format=json} and for {@code Accept:
 * application/json}.
 *
 * <p>Reads a {@link StatusRegistry} on its own threads; whoever starts it closes it, before or
 * after the node. Requests at the same time, their length, their duration and the rows of an answer
 * are bounded. Thread-safe.
 *
 * <p>Unless the process has decided on {@code sun.net.httpserver.nodelay}, this sets it to true:
 * the JDK's server writes head and body of a larger page apart, and would keep the second back
 * until the client has acknowledged the first, which clients do after 40 ms.
 */
public final class Monitor implements AutoCloseable {
  /**
   * System property with the address of the monitor that was started last, so that tools find it by
   * the process.
   */
  public static final String URL_PROPERTY = "rdma4j.monitor.url";

  private static final String NO_DELAY = "sun.net.httpserver.nodelay";

  private static final Logger LOG = System.getLogger(Monitor.class.getName());
  private static final long MAX_REQUEST_NS = 30_000_000_000L;
  private static final int BACKLOG = 64;

  static {
    if (System.getProperty(NO_DELAY) == null) {
      System.setProperty(NO_DELAY, "true"); // read when the first server is made
    }
  }

  private final HttpServer server;
  private final Sampler sampler;
  private final BoundedExecutor executor;

  private final List<Registration> registrations = new ArrayList<>();

  private Monitor(
      HttpServer server,
      MonitorConfig config,
      StatusRegistry registry,
      Incidents incidents,
      Path root,
      long periodNs)
      throws IOException {
    this.server = server;
    watchPorts(new PortWatch(root), registry);
    executor = new BoundedExecutor(config.maxRequests(), MAX_REQUEST_NS);
    sampler =
        new Sampler(registry, incidents, () -> executor.interruptSlow(System.nanoTime()), periodNs);
    server.createContext("/", new Site(config, registry, incidents, sampler, executor));
    server.setExecutor(executor);
  }

  private void watchPorts(PortWatch watch, StatusRegistry registry) {
    registrations.add(registry.register("ports", watch.metrics()));
    try {
      registrations.add(registry.register(watch.table()));
    } catch (IllegalStateException e) {
      registrations.forEach(Registration::close);
      throw e;
    }
  }

  /**
   * Starts a monitor.
   *
   * @param registry what to show: {@code node.metrics()}, or {@link StatusRegistry#global()}
   * @throws Rdma4jException when the address can not be listened on; nothing is left behind
   * @throws IllegalStateException when the registry has a monitor already
   */
  public static Monitor start(MonitorConfig config, StatusRegistry registry) {
    return start(config, registry, null, Path.of("/"));
  }

  /**
   * As {@link #start(MonitorConfig, StatusRegistry)}, with incidents.
   *
   * @param journal whose events and incidents to show; the caller keeps and closes it
   */
  public static Monitor start(MonitorConfig config, StatusRegistry registry, EventJournal journal) {
    return start(config, registry, journal, Path.of("/"));
  }

  /** As above, with the ports of a copied tree. */
  static Monitor start(
      MonitorConfig config, StatusRegistry registry, @Nullable EventJournal journal, Path root) {
    return start(config, registry, journal, root, Sampler.PERIOD_NS);
  }

  /** As above, with another time between two looks than the second that it is made for. */
  static Monitor start(
      MonitorConfig config,
      StatusRegistry registry,
      @Nullable EventJournal journal,
      Path root,
      long periodNs) {
    HttpServer server = null;
    Monitor monitor;
    try {
      server = HttpServer.create(config.address(), BACKLOG);
      monitor = new Monitor(server, config, registry, new Incidents(journal), root, periodNs);
    } catch (IOException e) {
      stop(server);
      throw new Rdma4jException(
          "cannot listen on " + config.address() + ": " + e.getMessage() + "; choose another port",
          e);
    } catch (RuntimeException e) {
      stop(server);
      throw e;
    }
    monitor.sampler.start();
    if (journal != null) {
      monitor.registrations.add(journal.listen(incident -> monitor.sampler.news()));
    }
    server.start();
    System.setProperty(URL_PROPERTY, monitor.url());
    if (config.token() == null && !config.address().getAddress().isLoopbackAddress()) {
      LOG.log(
          Level.WARNING,
          "the monitor answers whoever reaches " + monitor.address() + "; a token would ask first");
    }
    return monitor;
  }

  private static void stop(@Nullable HttpServer server) {
    if (server != null) {
      server.stop(0);
    }
  }

  /** Returns where it listens. */
  public InetSocketAddress address() {
    return server.getAddress();
  }

  private String url() {
    String host = address().getAddress().getHostAddress();
    return "http://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + address().getPort();
  }

  /** Returns the requests being answered. */
  int running() {
    return executor.running();
  }

  /** Returns the streams being followed. */
  int followers() {
    return sampler.feed().followers();
  }

  /** Stops listening and ends all requests; idempotent. */
  @Override
  public void close() {
    System.getProperties().remove(URL_PROPERTY, url());
    sampler.close();
    executor.interruptAll();
    server.stop(0);
    registrations.forEach(Registration::close);
  }
}
