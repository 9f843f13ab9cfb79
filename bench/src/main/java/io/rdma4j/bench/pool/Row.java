package io.rdma4j.bench.pool;

import io.rdma4j.Availability;
import java.util.Map;

/**
 * One line of the result: a JMH benchmark with its parameters.
 *
 * @param name what it is called in tables and files, for example {@code hit8k_glibc}
 * @param benchmark class and method, for JMH
 * @param parameters values of the benchmark's {@code @Param} fields
 * @param availability whether it can run here
 */
record Row(
    String name, String benchmark, Map<String, String> parameters, Availability availability) {}
