package io.rdma4j.monitor;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.stream.Collectors;

/** The points of the last five minutes, the latest last. Thread-safe. */
final class History {
  static final int SECONDS = 300;

  private final Deque<Point> points = new ArrayDeque<>(SECONDS);

  synchronized void add(Point point) {
    if (points.size() == SECONDS) {
      points.removeFirst();
    }
    points.addLast(point);
  }

  synchronized List<Point> points() {
    return new ArrayList<>(points);
  }

  /** Returns all points as a JSON array, one on a line. */
  String json() {
    return points().stream().map(Point::json).collect(Collectors.joining(",\n", "[\n", "\n]"));
  }
}
