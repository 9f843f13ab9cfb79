/** Clocks and other building blocks of threads that work in duty cycles. */
@NullMarked
package io.rdma4j.concurrent;

import org.jspecify.annotations.NullMarked;
