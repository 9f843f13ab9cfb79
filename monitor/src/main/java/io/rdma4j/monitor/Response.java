package io.rdma4j.monitor;

import java.nio.charset.StandardCharsets;

/**
 * The answer to a request.
 *
 * @param status of HTTP
 * @param contentType with its charset
 * @param body all of it
 */
record Response(int status, String contentType, byte[] body) {
  private static final String TEXT = "text/plain; charset=utf-8";
  private static final String JSON = "application/json; charset=utf-8";

  static Response text(String text) {
    return text(200, text);
  }

  static Response text(int status, String text) {
    return new Response(status, TEXT, text.getBytes(StandardCharsets.UTF_8));
  }

  static Response json(String json) {
    return json(200, json);
  }

  static Response json(int status, String json) {
    return new Response(status, JSON, json.getBytes(StandardCharsets.UTF_8));
  }
}
