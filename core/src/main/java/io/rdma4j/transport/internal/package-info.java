/** Bootstrap, path negotiation and frame formats of the transport. */
@NullMarked
package io.rdma4j.transport.internal;

import org.jspecify.annotations.NullMarked;
