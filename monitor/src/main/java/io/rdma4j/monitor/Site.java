package io.rdma4j.monitor;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import io.rdma4j.Rdma4jException;
import io.rdma4j.monitor.Query.BadRequestException;
import io.rdma4j.status.JsonText;
import io.rdma4j.status.StatusRegistry;
import io.rdma4j.status.StatusTable;
import io.rdma4j.status.TableDescriptor;
import io.rdma4j.status.VarsText;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Answers requests: checks them, finds the page, writes the answer. Called by several threads.
 *
 * <p>The files of the dashboard hold no data and are answered without the token, so that the page
 * can ask for it.
 */
final class Site implements HttpHandler {
  private static final Logger LOG = System.getLogger(Site.class.getName());
  private static final String STREAM = "/stream";
  private static final String VARS = "/vars/";
  private static final String BEARER = "Bearer ";

  private final MonitorConfig config;
  private final StatusRegistry registry;
  private final Sampler sampler;
  private final BoundedExecutor executor;
  private final Map<String, Page> pages = new LinkedHashMap<>();

  Site(
      MonitorConfig config,
      StatusRegistry registry,
      Incidents incidents,
      Sampler sampler,
      BoundedExecutor executor) {
    this.config = config;
    this.registry = registry;
    this.sampler = sampler;
    this.executor = executor;
    pages.put("/vars", query -> vars(query, query.parameter("filter").orElse("")));
    pages.put("/metrics", query -> PrometheusText.of(registry.snapshot(), query.accept()));
    pages.put("/health", query -> health(sampler.health(), query.wantsJson()));
    pages.put("/incidents", query -> incidents.page(query.wantsJson()));
    pages.put("/events", query -> incidents.events(query.wantsJson()));
    pages.put("/history", query -> Response.json(sampler.history().json() + "\n"));
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    Headers headers = exchange.getResponseHeaders();
    headers.set("Cache-Control", "no-store");
    headers.set("X-Content-Type-Options", "nosniff");
    headers.set(
        "Content-Security-Policy",
        "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'");
    try (exchange) {
      answerOrExplain(exchange);
    }
  }

  private void answerOrExplain(HttpExchange exchange) throws IOException {
    try {
      Query query = query(exchange);
      if (query.path().equals(STREAM)) {
        stream(exchange);
      } else {
        write(exchange, answer(exchange, query));
      }
    } catch (BadRequestException e) {
      write(exchange, Response.text(400, e.getMessage() + "\n"));
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "answering " + exchange.getRequestURI() + " failed", e);
      write(exchange, Response.text(500, "this page failed: " + e + "\n"));
    }
  }

  private static Query query(HttpExchange exchange) throws BadRequestException {
    String accept = exchange.getRequestHeaders().getFirst("Accept");
    return Query.of(exchange.getRequestURI(), accept == null ? "" : accept);
  }

  private Response answer(HttpExchange exchange, Query query)
      throws IOException, BadRequestException {
    String method = exchange.getRequestMethod();
    if (!method.equals("GET") && !method.equals("HEAD")) {
      exchange.getResponseHeaders().set("Allow", "GET, HEAD");
      return Response.text(405, "this server shows and changes nothing: GET and HEAD only\n");
    }
    Optional<Response> asset = Assets.find(query.path());
    if (asset.isPresent()) {
      return asset.get();
    }
    if (!isAllowed(exchange.getRequestHeaders())) {
      return refusal(exchange);
    }
    if (query.path().startsWith(VARS)) {
      return vars(query, query.path().substring(VARS.length()));
    }
    Page page = pages.get(query.path());
    return page != null ? page.answer(query) : table(query);
  }

  private static Response refusal(HttpExchange exchange) {
    exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer");
    return Response.text(401, "send the token of this monitor: Authorization: Bearer TOKEN\n");
  }

  /** Compares in a time that does not depend on where the two differ. */
  private boolean isAllowed(Headers headers) {
    String token = config.token();
    if (token == null) {
      return true;
    }
    String given = headers.getFirst("Authorization");
    return given != null
        && MessageDigest.isEqual(
            (BEARER + token).getBytes(StandardCharsets.UTF_8),
            given.getBytes(StandardCharsets.UTF_8));
  }

  private Response vars(Query query, String patterns) throws BadRequestException {
    return query.wantsJson()
        ? Response.json(JsonText.of(registry.snapshot(), patterns))
        : Response.text(VarsText.of(registry.snapshot(), patterns));
  }

  private static Response health(Health health, boolean json) {
    int status = health.level() == Health.Level.FAILING ? 503 : 200;
    return json ? Response.json(status, health.json()) : Response.text(status, health.text());
  }

  private Response table(Query query) throws BadRequestException {
    String name = query.path().substring(1);
    Optional<StatusTable> table;
    try {
      table = registry.table(name, config.maxRows());
    } catch (Rdma4jException e) {
      LOG.log(Level.WARNING, e.getMessage(), e);
      return Response.text(500, e.getMessage() + "\n");
    }
    if (table.isEmpty()) {
      return Response.text(404, "no page " + query.path() + "; there are: " + known() + "\n");
    }
    return query.wantsJson()
        ? Response.json(table.get().json())
        : Response.text(table.get().text());
  }

  private String known() {
    TreeSet<String> names = new TreeSet<>(pages.keySet());
    registry.tables().stream().map(TableDescriptor::name).forEach(name -> names.add("/" + name));
    names.add(STREAM);
    return names.stream().collect(Collectors.joining(" ", "/ ", ""));
  }

  private void stream(HttpExchange exchange) throws IOException {
    if (!exchange.getRequestMethod().equals("GET")) {
      write(exchange, Response.text(405, "a stream is for GET\n"));
      return;
    }
    if (!isAllowed(exchange.getRequestHeaders())) {
      write(exchange, refusal(exchange));
      return;
    }
    executor.allowLong();
    exchange.getResponseHeaders().set("Content-Type", "text/event-stream; charset=utf-8");
    exchange.sendResponseHeaders(200, 0);
    try (OutputStream out = Objects.requireNonNull(exchange.getResponseBody())) {
      sampler.feed().follow(sampler.beginning(), out);
    }
  }

  private static void write(HttpExchange exchange, Response response) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", response.contentType());
    if (exchange.getRequestMethod().equals("HEAD")) {
      exchange.sendResponseHeaders(response.status(), -1);
      return;
    }
    // 0 would mean that the length is not known.
    exchange.sendResponseHeaders(
        response.status(), response.body().length == 0 ? -1 : response.body().length);
    try (OutputStream out = exchange.getResponseBody()) {
      out.write(response.body());
    }
  }
}
