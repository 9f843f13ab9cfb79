import org.jspecify.annotations.NullMarked;

/** What operators see of a node: HTTP pages, metrics, a live dashboard. */
@NullMarked
module io.rdma4j.monitor {
  requires transitive io.rdma4j.core;
  requires io.prometheus.metrics.config;
  requires io.prometheus.metrics.model;
  requires io.prometheus.writer.text;
  requires jdk.httpserver;
  requires static org.jspecify;

  exports io.rdma4j.monitor;
}
