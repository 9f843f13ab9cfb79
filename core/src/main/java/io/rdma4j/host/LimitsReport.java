package io.rdma4j.host;

import org.jspecify.annotations.Nullable;

/**
 * Limits of a process that bound how much memory it may register.
 *
 * @param memlockBytes soft limit of locked memory, which registration counts against; {@link
 *     #UNLIMITED}, or null when unknown
 * @param memlockHardBytes what the process may raise the soft limit to; {@link #UNLIMITED}, or null
 * @param ipcLock whether CAP_IPC_LOCK lifts the limit for the process; null when unknown
 */
public record LimitsReport(
    @Nullable Long memlockBytes, @Nullable Long memlockHardBytes, @Nullable Boolean ipcLock) {
  /** No limit. */
  public static final long UNLIMITED = Long.MAX_VALUE;
}
