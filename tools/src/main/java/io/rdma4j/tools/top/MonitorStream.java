package io.rdma4j.tools.top;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.channels.UnresolvedAddressException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The live stream of a monitor: a message each second, as server-sent events. One thread; closed by
 * any.
 */
final class MonitorStream implements AutoCloseable {
  private static final String DATA = "data: ";
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

  private final HttpClient http = HttpClient.newBuilder().connectTimeout(CONNECT_TIMEOUT).build();
  private final BufferedReader lines;

  /**
   * Opens the stream.
   *
   * @param base address of the monitor
   * @param token null for a monitor that asks for none
   * @throws IOException when there is none, or it refuses; with what to do
   */
  MonitorStream(URI base, @Nullable String token) throws IOException, InterruptedException {
    HttpRequest.Builder request = HttpRequest.newBuilder(base.resolve("/stream"));
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    HttpResponse<java.io.InputStream> answer;
    try {
      answer = http.send(request.build(), HttpResponse.BodyHandlers.ofInputStream());
    } catch (IOException e) {
      http.shutdownNow();
      throw new IOException("no monitor at " + base + ": " + reason(e), e);
    }
    lines = new BufferedReader(new InputStreamReader(answer.body(), StandardCharsets.UTF_8));
    if (answer.statusCode() != 200) {
      String said = lines.readLine();
      close();
      throw new IOException(
          answer.statusCode() == 401
              ? base + " asks for its token: --token-file FILE"
              : base + " answers " + answer.statusCode() + ": " + said);
    }
  }

  /** The client's exceptions have their causes, and no words. */
  private static String reason(IOException failure) {
    for (Throwable t = failure; t != null; t = t.getCause()) {
      if (t instanceof UnresolvedAddressException) {
        return "the host is not known";
      }
    }
    return failure instanceof ConnectException ? "nobody listens there" : failure.toString();
  }

  /** Waits for the next second's message, which repeats what news there were in between. */
  Map<String, Object> next() throws IOException {
    for (String line; (line = lines.readLine()) != null; ) {
      if (line.startsWith(DATA)) {
        Map<String, Object> message = JSON.std.mapFrom(line.substring(DATA.length()));
        if (message.containsKey("points")) {
          return message;
        }
      }
    }
    throw new EOFException("the monitor has ended");
  }

  @Override
  public void close() {
    http.shutdownNow();
  }
}
