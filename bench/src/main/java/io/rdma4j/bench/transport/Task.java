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
  /** Patterns. */
  enum Kind {
    /** One message and its answer. */
    ROUND_TRIP,
    /** One read of the peer's memory. */
    READ,
    /** One-way messages. */
    STREAM,
    /** Requests with answers, several under way. */
    TRANSACTION;

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

  /** Runs {@code count} operations of a kind that is one by one, and records the time of each. */
  void runTimed(Loop loop, long count, Histogram timeNs) throws IOException {
    if (kind == Kind.READ) {
      loop.timedReads(count, lengthBytes, timeNs);
    } else {
      loop.timedRoundTrips(count, lengthBytes, timeNs);
    }
  }

  /** Returns the start of a row's name, for example {@code stream512_b16}. */
  String key() {
    return switch (kind) {
      case ROUND_TRIP -> "rtt" + lengthBytes;
      case READ -> "read" + lengthBytes;
      case STREAM -> "stream" + lengthBytes + "_b" + depth;
      case TRANSACTION -> "rpc" + lengthBytes + "_w" + depth;
    };
  }

  /** Runs {@code count} operations and returns their nanoseconds. */
  long run(Loop loop, long count) throws IOException {
    return switch (kind) {
      case ROUND_TRIP -> loop.roundTrips(count, lengthBytes);
      case READ -> loop.reads(count, lengthBytes);
      case STREAM -> loop.stream(count, lengthBytes, depth);
      case TRANSACTION -> loop.transactions(count, lengthBytes, depth);
    };
  }
}
