package io.rdma4j.tools.demo;

import org.jspecify.annotations.Nullable;

/**
 * Result of one way.
 *
 * @param transport {@code socket}, {@code tcp}, {@code shm} or {@code verbs}
 * @param device device used, empty when there is none
 * @param description the path in words
 * @param messages orders sent in the measured phases
 * @param lost orders without acknowledgement, or gaps the node saw
 * @param duplicated orders the node saw twice
 * @param corrupted orders whose checksum was wrong
 * @param p50Ns median round trip
 * @param p99Ns 99 of 100 round trips are at most this long
 * @param p999Ns 999 of 1000
 * @param messagesPerSecond rate of the stream
 * @param cpuMicrosPerMessage CPU of both processes per message of the stream
 * @param poolHitRate share of allocations the pool served at once, NaN for sockets
 * @param failure why this way has no result, or null
 */
record DemoRun(
    String transport,
    String device,
    String description,
    long messages,
    long lost,
    long duplicated,
    long corrupted,
    long p50Ns,
    long p99Ns,
    long p999Ns,
    double messagesPerSecond,
    double cpuMicrosPerMessage,
    double poolHitRate,
    @Nullable String failure) {

  static DemoRun failed(String transport, String device, String failure) {
    return new DemoRun(
        transport, device, "", 0, 0, 0, 0, 0, 0, 0, Double.NaN, Double.NaN, Double.NaN, failure);
  }

  boolean isIntact() {
    return failure == null && lost == 0 && duplicated == 0 && corrupted == 0;
  }
}
