/**
 * Verbs objects as a tree: {@link io.rdma4j.verbs.Device} owns protection domains, completion
 * channels and completion queues; a {@link io.rdma4j.verbs.ProtectionDomain} owns memory regions,
 * queue pairs and shared receive queues. Closing a parent closes its children first; closing twice
 * is harmless.
 *
 * <p>These are interfaces and small value types. The implementation over libibverbs and librdmacm
 * is hidden; a scripted one for tests lives outside this module.
 */
@NullMarked
package io.rdma4j.verbs;

import org.jspecify.annotations.NullMarked;
