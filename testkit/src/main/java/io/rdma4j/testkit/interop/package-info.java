/**
 * Exchanges of well-known C tools, spoken over the verbs interfaces, to test against those tools.
 */
@NullMarked
package io.rdma4j.testkit.interop;

import org.jspecify.annotations.NullMarked;
