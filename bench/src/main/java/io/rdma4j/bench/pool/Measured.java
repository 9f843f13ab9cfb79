package io.rdma4j.bench.pool;

import io.rdma4j.bench.Series;

/**
 * What one row was measured to cost.
 *
 * @param bytesPerOp garbage per operation, the median of the rounds; JMH's own work shows in it as
 *     a few hundredths of a byte
 */
record Measured(Series series, double bytesPerOp) {}
