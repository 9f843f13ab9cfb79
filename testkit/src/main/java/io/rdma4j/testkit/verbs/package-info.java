/**
 * A verbs stack without a kernel: {@link io.rdma4j.testkit.verbs.ScriptedVerbs} moves real bytes
 * between queue pairs of this process, and does on demand what no device does on demand: refuses
 * calls, holds completions back, loses its peer, raises events, runs into limits. It keeps a {@link
 * io.rdma4j.testkit.verbs.Ledger} of what it was asked and what is left.
 *
 * <p>All objects of one stack share one lock, the {@code Wire}: posting a send executes it at once
 * on the posting thread, up to the completions on both sides.
 */
@NullMarked
package io.rdma4j.testkit.verbs;

import org.jspecify.annotations.NullMarked;
