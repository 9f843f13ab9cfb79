/**
 * What the operating system offers beyond {@code java.base}: mappings, shared files, processes and
 * topology. Linux only; absence is a normal, explained state.
 */
@NullMarked
package io.rdma4j.os;

import org.jspecify.annotations.NullMarked;
