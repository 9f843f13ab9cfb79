/**
 * Runs what does not fit into unit tests: stress cases of the lock-free structures, which lie in
 * the packages of what they stress, and exact gates on the hot paths.
 */
@NullMarked
package io.rdma4j.stress;

import org.jspecify.annotations.NullMarked;
