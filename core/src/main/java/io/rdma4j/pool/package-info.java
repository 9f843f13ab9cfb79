/**
 * Memory that devices know already, handed out in nanoseconds: a {@link
 * io.rdma4j.pool.RegisteredBufferPool} lends {@link io.rdma4j.pool.RegisteredBuffer}s. For memory
 * of somebody else, a {@link io.rdma4j.pool.RegistrationCache} lends its keys.
 *
 * <p>Shared words of the cache; its other state is guarded by the lock of {@code RegistrationTable}
 * or of {@code KnownRegistrations}:
 *
 * <pre>
 *   word                          writer                        readers    mode
 *   CachedRegistration.state      users, retiring threads       same       atomic, volatile
 *   CachedRegistration.lastUse    users, any order              evictions  opaque
 *   CachedRegistration.guarded    under the table's lock        hits       volatile
 *   RegistrationIndex.lanes       under the table's lock        hits       volatile, immutable arrays
 *   RegistrationTable.epoch       under the table's lock        hits       opaque
 * </pre>
 */
@NullMarked
package io.rdma4j.pool;

import org.jspecify.annotations.NullMarked;
