package io.rdma4j.monitor;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.StringJoiner;

/**
 * What the charts show of one second: figures by name, NaN where nothing is known. Immutable.
 *
 * @param epochMs the end of the second
 * @param figures rates per second, seconds, bytes, shares, as the names say
 */
record Point(long epochMs, Map<String, Double> figures) {

  static Point between(Readings before, Readings now) {
    Map<String, Double> figures = new LinkedHashMap<>();
    String messages = "rdma4j_node_messages_total";
    String bytes = "rdma4j_node_message_bytes_total";
    figures.put("sent_per_second", now.rateSince(before, messages, "direction", "sent"));
    figures.put("received_per_second", now.rateSince(before, messages, "direction", "received"));
    figures.put("sent_bytes_per_second", now.rateSince(before, bytes, "direction", "sent"));
    figures.put("received_bytes_per_second", now.rateSince(before, bytes, "direction", "received"));
    String requests = "rdma4j_node_request_seconds";
    figures.put("request_p50_seconds", now.percentileSince(before, requests, 50));
    figures.put("request_p99_seconds", now.percentileSince(before, requests, 99));
    figures.put("request_p999_seconds", now.percentileSince(before, requests, 99.9));
    figures.put(
        "back_pressured_per_second", now.rateSince(before, "rdma4j_node_back_pressured_total"));
    String allocations = "rdma4j_pool_allocations_total";
    double allocated = now.rateSince(before, allocations);
    figures.put("allocations_per_second", allocated);
    figures.put(
        "thread_cache_hit_ratio",
        allocated > 0
            ? now.rateSince(before, allocations, "source", "thread_cache") / allocated
            : Double.NaN);
    figures.put(
        "allocation_p99_seconds",
        now.percentileSince(before, "rdma4j_pool_allocation_seconds", 99));
    figures.put("pool_used_bytes", now.sum("rdma4j_pool_bytes", "state", "used"));
    figures.put("pool_registered_bytes", now.sum("rdma4j_pool_registered_bytes"));
    figures.put("connections", now.sum("rdma4j_node_connections"));
    return new Point(now.epochMs(), figures);
  }

  String json() {
    StringJoiner fields = new StringJoiner(",", "{", "}").add("\"epoch_ms\":" + epochMs);
    figures.forEach(
        (name, value) ->
            fields.add("\"" + name + "\":" + (Double.isFinite(value) ? "" + value : "null")));
    return fields.toString();
  }
}
