/**
 * Why things fail: groups events into incidents and names their causes.
 *
 * <p>{@link io.rdma4j.diagnosis.Facts} are what is known of an incident, as numbers with names:
 * events, statuses of completions, increases of counters, settings, and all of these as the peer
 * has told them. {@link io.rdma4j.diagnosis.RootCauses} holds a table of rules against them, which
 * is data: {@code root-causes.rules} beside this class, explained in docs/operating/root-causes.md.
 * {@link io.rdma4j.diagnosis.Watch} does all this for a living node, on a thread of its own;
 * nothing here touches a data path.
 */
@NullMarked
package io.rdma4j.diagnosis;

import org.jspecify.annotations.NullMarked;
