package io.rdma4j.host;

import org.jspecify.annotations.Nullable;

/**
 * Limits of a process that bound how much memory it may register, and how many connections it may
 * have.
 *
 * @param memlockBytes soft limit of locked memory, which registration counts against; {@link
 *     #UNLIMITED}, or null when unknown
 * @param memlockHardBytes what the process may raise the soft limit to; {@link #UNLIMITED}, or null
 * @param ipcLock whether CAP_IPC_LOCK lifts the limit for the process; null when unknown
 * @param openFiles soft limit of open files; {@link #UNLIMITED}, or null
 */
public record LimitsReport(
    @Nullable Long memlockBytes,
    @Nullable Long memlockHardBytes,
    @Nullable Boolean ipcLock,
    @Nullable Long openFiles) {
  /** No limit. */
  public static final long UNLIMITED = Long.MAX_VALUE;
}
