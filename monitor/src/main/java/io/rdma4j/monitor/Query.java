package io.rdma4j.monitor;

import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What a request asks for. Immutable.
 *
 * @param path decoded, from {@code /}
 * @param parameters those of the query by name, the last of one name; one without {@code =} has an
 *     empty value
 * @param accept the header Accept, empty when there is none
 */
record Query(String path, Map<String, String> parameters, String accept) {
  private static final int MOST_CHARACTERS = 2048;

  /** A request that can not be understood; the message is for its sender. */
  static final class BadRequestException extends Exception {
    private static final long serialVersionUID = 1L;

    BadRequestException(String message) {
      super(message);
    }
  }

  static Query of(URI uri, String accept) throws BadRequestException {
    String path = uri.getPath();
    String raw = uri.getRawQuery();
    if (path == null || path.length() + (raw == null ? 0 : raw.length()) > MOST_CHARACTERS) {
      throw new BadRequestException(
          "a path and a query of at most " + MOST_CHARACTERS + " characters, please");
    }
    Map<String, String> parameters = new LinkedHashMap<>();
    if (raw != null && !raw.isEmpty()) {
      for (String pair : raw.split("&", -1)) {
        int equals = pair.indexOf('=');
        String name = equals < 0 ? pair : pair.substring(0, equals);
        parameters.put(decoded(name), equals < 0 ? "" : decoded(pair.substring(equals + 1)));
      }
    }
    return new Query(path, parameters, accept);
  }

  /** Escapes are well-formed, since they have been part of a URI. */
  private static String decoded(String text) {
    return URLDecoder.decode(text, StandardCharsets.UTF_8);
  }

  Optional<String> parameter(String name) {
    return Optional.ofNullable(parameters.get(name));
  }

  /** Returns whether JSON is wanted: {@code ?format=json}, or the header says so. */
  boolean wantsJson() throws BadRequestException {
    String format = parameters.get("format");
    if (format == null) {
      return accept.contains("application/json");
    }
    return switch (format) {
      case "json" -> true;
      case "text" -> false;
      default -> throw new BadRequestException("format is json or text, not '" + format + "'");
    };
  }
}
