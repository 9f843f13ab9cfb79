/**
 * {@link io.rdma4j.verbs} over the distribution's libibverbs and librdmacm, called through {@code
 * java.lang.foreign}.
 *
 * <p>{@code LibIbverbs} and {@code LibRdmacm} hold the functions, {@code ContextOps} those of the
 * data path, {@code Layouts} every struct offset used (a test compares them with the C headers),
 * {@code Errno} the texts. {@code NativeObject} is the tree of ownership; the other {@code Native…}
 * classes are its nodes.
 */
@NullMarked
package io.rdma4j.verbs.ffi;

import org.jspecify.annotations.NullMarked;
