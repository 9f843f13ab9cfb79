/**
 * The benchmarks' own calls into C: rival allocators and the few system calls they are held
 * against.
 *
 * <p>The library itself links natives in two packages of core only; nothing here is part of it.
 */
@NullMarked
package io.rdma4j.bench.natives;

import org.jspecify.annotations.NullMarked;
