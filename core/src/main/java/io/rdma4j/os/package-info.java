/**
 * What the library asks of the operating system: page-aligned memory, shared files, limits, and the
 * text files below {@code /sys} and {@code /proc}.
 *
 * <p>Beside the verbs binding this is the only package that calls native functions.
 */
@NullMarked
package io.rdma4j.os;

import org.jspecify.annotations.NullMarked;
