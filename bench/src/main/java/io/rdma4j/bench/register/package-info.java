/** How long it takes until a large piece of memory is ready for a device. */
@NullMarked
package io.rdma4j.bench.register;

import org.jspecify.annotations.NullMarked;
