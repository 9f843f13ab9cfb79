/** Benchmarks of the library, each against a baseline measured in the same run. */
@NullMarked
package io.rdma4j.bench;

import org.jspecify.annotations.NullMarked;
