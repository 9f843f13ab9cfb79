/** Small building blocks of agents: idle strategies and clocks. */
@NullMarked
package io.rdma4j.concurrent;

import org.jspecify.annotations.NullMarked;
