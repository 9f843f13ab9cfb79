package io.rdma4j.pool;

import io.rdma4j.Rdma4jException;
import java.util.OptionalLong;

/**
 * The pool needed another slab and a device refused to register it. The slab's memory has been
 * given back; the next allocation that finds no free block tries again.
 */
public final class PoolGrowthException extends Rdma4jException {
  private static final long serialVersionUID = 1L;

  private final String registrar;
  private final long askedBytes;
  private final long pinnedBytes;
  private final long limitBytes;

  /**
   * Creates the failure of one registration.
   *
   * @param registrar the device that refused
   * @param askedBytes bytes of the slab
   * @param pinnedBytes bytes this pool had registered with each device at that time
   * @param limitBytes this process's soft limit on locked memory, if it could be read
   * @param limit the limit in words
   * @param cause the registrar's own failure
   */
  public PoolGrowthException(
      String registrar,
      long askedBytes,
      long pinnedBytes,
      OptionalLong limitBytes,
      String limit,
      Throwable cause) {
    super(
        ("%s refused to register %d bytes on top of %d that this pool has pinned already: %s. This"
                + " process's locked-memory limit is %s. Raise it (LimitMEMLOCK= of the service,"
                + " ulimit -l, or CAP_IPC_LOCK), or lower %s and %s")
            .formatted(
                registrar,
                askedBytes,
                pinnedBytes,
                cause.getMessage(),
                limit,
                PoolConfig.INITIAL_BYTES,
                PoolConfig.MAX_BYTES),
        cause);
    this.registrar = registrar;
    this.askedBytes = askedBytes;
    this.pinnedBytes = pinnedBytes;
    this.limitBytes = limitBytes.orElse(-1);
  }

  /** Tells another thread that waited for the same registration. */
  public PoolGrowthException(PoolGrowthException first) {
    super(String.valueOf(first.getMessage()), first);
    this.registrar = first.registrar;
    this.askedBytes = first.askedBytes;
    this.pinnedBytes = first.pinnedBytes;
    this.limitBytes = first.limitBytes;
  }

  /** Returns the name of the device that refused. */
  public String registrar() {
    return registrar;
  }

  /** Returns the bytes asked for. */
  public long askedBytes() {
    return askedBytes;
  }

  /** Returns the bytes this pool had registered with each device at that time. */
  public long pinnedBytes() {
    return pinnedBytes;
  }

  /** Returns this process's soft limit on locked memory in bytes, if it could be read. */
  public OptionalLong limitBytes() {
    return limitBytes < 0 ? OptionalLong.empty() : OptionalLong.of(limitBytes);
  }
}
