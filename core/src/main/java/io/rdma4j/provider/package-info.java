/**
 * What a way of moving messages must offer: a {@link io.rdma4j.provider.Provider} sets up {@link
 * io.rdma4j.provider.Endpoint}s over an established bootstrap connection, and its {@link
 * io.rdma4j.provider.MemoryRegistrar}s make memory known to its devices.
 *
 * <p>Endpoints take primitives (address, length, key, token), never pooled buffers, so that
 * providers and the pool know nothing of each other.
 */
@NullMarked
package io.rdma4j.provider;

import org.jspecify.annotations.NullMarked;
