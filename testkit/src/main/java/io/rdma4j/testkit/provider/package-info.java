/**
 * The contract suite of {@link io.rdma4j.provider.Provider} and what it needs: a bootstrap
 * connection over a loopback socket and pairs of connected endpoints.
 */
@NullMarked
package io.rdma4j.testkit.provider;

import org.jspecify.annotations.NullMarked;
