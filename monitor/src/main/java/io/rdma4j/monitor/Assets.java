package io.rdma4j.monitor;

import java.io.IOException;
import java.io.InputStream;
import java.util.Map;
import java.util.Optional;

/** The files of the dashboard, which lie beside this class and refer to nothing elsewhere. */
final class Assets {
  private record Asset(String file, String contentType) {}

  private static final Map<String, Asset> ASSETS =
      Map.of(
          "/", new Asset("dashboard.html", "text/html; charset=utf-8"),
          "/dashboard.css", new Asset("dashboard.css", "text/css; charset=utf-8"),
          "/dashboard.js", new Asset("dashboard.js", "text/javascript; charset=utf-8"),
          "/charts.js", new Asset("charts.js", "text/javascript; charset=utf-8"));

  private Assets() {}

  static Optional<Response> find(String path) throws IOException {
    Asset asset = ASSETS.get(path);
    if (asset == null) {
      return Optional.empty();
    }
    try (InputStream in = Assets.class.getResourceAsStream(asset.file)) {
      if (in == null) {
        throw new IOException(asset.file + " is missing from this build");
      }
      return Optional.of(new Response(200, asset.contentType, in.readAllBytes()));
    }
  }
}
