/**
 * The pool against other allocators: JMH benchmarks, each of them in turn, round after round, in
 * one process.
 */
@NullMarked
package io.rdma4j.bench.pool;

import org.jspecify.annotations.NullMarked;
