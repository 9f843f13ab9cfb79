package io.rdma4j.bench.transport;

import java.io.IOException;
import org.HdrHistogram.Histogram;

/** What the measuring process does with a link. Each returns the nanoseconds it took. */
interface Loop {
  /** One message under way, answered by the peer, again and again. */
  long roundTrips(long count, int lengthBytes) throws IOException;

  /** The same, with the time of each in {@code roundTripNs}. */
  void timedRoundTrips(long count, int lengthBytes, Histogram roundTripNs) throws IOException;

  /** One read of the peer's memory under way, again and again. */
  long reads(long count, int lengthBytes) throws IOException;

  /** The same, with the time of each in {@code readNs}. */
  void timedReads(long count, int lengthBytes, Histogram readNs) throws IOException;

  /**
   * Round trips due at fixed times, whether those before are through or not. Counts from when each
   * was due, so that a stall counts for everyone who had to wait for it.
   */
  void pacedRoundTrips(long count, long intervalNs, int lengthBytes, Histogram responseNs)
      throws IOException;

  /** One-way messages, {@code batch} between two flushes; the last one is answered. */
  long stream(long count, int lengthBytes, int batch) throws IOException;

  /** Requests with answers, at most {@code window} under way. */
  long transactions(long count, int lengthBytes, int window) throws IOException;

  /**
   * Large messages, one under way: by the link's own means where it has some, as a stream of its
   * longest messages elsewhere, the last one answered.
   */
  long larges(long count, int lengthBytes) throws IOException;

  /** Ends the peer's serving. */
  void stop() throws IOException;
}
