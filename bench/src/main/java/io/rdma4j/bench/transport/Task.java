package io.rdma4j.bench.transport;

import java.io.IOException;
import org.HdrHistogram.Histogram;

/**
 * What one row does.
 *
 * @param depth messages between two flushes of a stream, requests under way of transactions, 1 for
 *     round trips and reads
 */
record Task(Kind kind, int lengthBytes, int depth) {
  private static final long FEWEST = 64;

  /** Patterns. */
  enum Kind {
    /** One message and its answer. */
    ROUND_TRIP,
    /** One read of the peer's memory. */
    READ,
    /** One-way messages. */
    STREAM,
    /** Requests with answers, several under way. */
    TRANSACTION,
    /** A message far longer than a path carries in one piece, one under way. */
    LARGE;

    /**
     * Returns whether one operation is under way at a time, and the time of each is of interest.
     */
    boolean isOneByOne() {
      return this == ROUND_TRIP || this == READ;
    }
  }

  static Task roundTrip(int lengthBytes) {
    return new Task(Kind.ROUND_TRIP, lengthBytes, 1);
  }

  static Task read(int lengthBytes) {
    return new Task(Kind.READ, lengthBytes, 1);
  }

  static Task stream(int lengthBytes, int batch) {
    return new Task(Kind.STREAM, lengthBytes, batch);
  }

  static Task transaction(int lengthBytes, int window) {
    return new Task(Kind.TRANSACTION, lengthBytes, window);
  }

  static Task large(int lengthBytes) {
    return new Task(Kind.LARGE, lengthBytes, 1);
  }

  /** Runs {@code count} operations of a kind that is one by one, and records the time of each. */
  void runTimed(Loop loop, long count, Histogram timeNs) throws IOException {
    if (kind == Kind.READ) {
      loop.timedReads(count, lengthBytes, timeNs);
    } else {
      loop.timedRoundTrips(count, lengthBytes, timeNs);
    }
  }

  /** Returns how many operations a first try has, which is not to take long. */
  long fewest() {
    return kind == Kind.LARGE ? 1 : FEWEST * depth;
  }

  /** Returns the start of a row's name, for example {@code stream512_b16}. */
  String key() {
    return switch (kind) {
      case ROUND_TRIP -> "rtt" + lengthBytes;
      case READ -> "read" + lengthBytes;
      case STREAM -> "stream" + lengthBytes + "_b" + depth;
      case TRANSACTION -> "rpc" + lengthBytes + "_w" + depth;
      case LARGE -> "large" + (lengthBytes >> 20) + "m";
    };
  }

  /** Runs {@code count} operations and returns their nanoseconds. */
  long run(Loop loop, long count) throws IOException {
    return switch (kind) {
      case ROUND_TRIP -> loop.roundTrips(count, lengthBytes);
      case READ -> loop.reads(count, lengthBytes);
      case STREAM -> loop.stream(count, lengthBytes, depth);
      case TRANSACTION -> loop.transactions(count, lengthBytes, depth);
      case LARGE -> loop.larges(count, lengthBytes);
    };
  }
}
