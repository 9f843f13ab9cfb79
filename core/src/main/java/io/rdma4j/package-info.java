/** Typed exceptions, sentinel results and other small types shared by the whole library. */
@NullMarked
package io.rdma4j;

import org.jspecify.annotations.NullMarked;
