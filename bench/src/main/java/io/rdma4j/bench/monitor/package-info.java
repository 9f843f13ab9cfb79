/**
 * What a monitor costs the messages of its node.
 *
 * <p>Slices with a monitor and slices without take turns in one process, in the order A B B A, so
 * that what slows the machine down for a while slows both kinds alike. A slice is a fifth of a
 * second, and a monitor does all in it that it does in a second: a look at every metric and table,
 * a message to a follower, an answer to Prometheus. So each slice with a monitor has the same work
 * in it, the median of the pairs does not miss it, and the effect is five times what it is at one
 * look a second, while the noise is the same.
 */
@NullMarked
package io.rdma4j.bench.monitor;

import org.jspecify.annotations.NullMarked;
