package io.rdma4j.monitor;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

/** Asks a monitor. */
final class Client implements AutoCloseable {
  private final HttpClient http = HttpClient.newHttpClient();
  private final String base;

  Client(Monitor monitor) {
    base = "http://127.0.0.1:" + monitor.address().getPort();
  }

  HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(base + path)).timeout(Duration.ofSeconds(60));
  }

  HttpResponse<String> get(String path, String... headers)
      throws IOException, InterruptedException {
    HttpRequest.Builder request = request(path);
    if (headers.length > 0) {
      request.headers(headers);
    }
    return send(request);
  }

  HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
    return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
  }

  InputStream open(String path) throws IOException, InterruptedException {
    return http.send(
            HttpRequest.newBuilder(URI.create(base + path)).build(),
            HttpResponse.BodyHandlers.ofInputStream())
        .body();
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
