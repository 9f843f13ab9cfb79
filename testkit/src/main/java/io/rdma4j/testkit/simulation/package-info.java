/**
 * What a simulation of whole nodes is made of: a clock that moves only when somebody looks at it or
 * pushes it, threads that take turns, a bootstrap connection in memory, and a device whose every
 * step is drawn from a seed.
 *
 * <p>Nothing here reads the machine's clock, and no two threads run at the same time, so that a
 * seed stands for one run.
 */
@NullMarked
package io.rdma4j.testkit.simulation;

import org.jspecify.annotations.NullMarked;
