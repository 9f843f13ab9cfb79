/**
 * The pool's layers: thread caches in front, lock-free shared lists in the middle, slabs at the
 * back. Blocks are numbers between the layers, never objects.
 */
@NullMarked
package io.rdma4j.pool.internal;

import org.jspecify.annotations.NullMarked;
