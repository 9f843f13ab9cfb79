/**
 * The {@code serve} command, a node to try things with, and {@code fault}, which breaks it.
 *
 * <pre>
 *  serve: node + monitor  &lt;--requests-- serve-peer processes, started anew when they end
 *           ^
 *           | one line over a Unix socket: name of the fault, seconds
 *         fault
 * </pre>
 */
@NullMarked
package io.rdma4j.tools.serve;

import org.jspecify.annotations.NullMarked;
