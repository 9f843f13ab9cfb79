package io.rdma4j.verbs;

/**
 * Access rights of a memory region or queue pair: the bits of enum ibv_access_flags
 * (ibv_reg_mr(3)). Local read is always granted. Remote write and remote atomic need {@link
 * #LOCAL_WRITE} as well.
 */
public final class Access {
  /** Local read only. */
  public static final int LOCAL_READ = 0;

  /** The device may write into the region on behalf of this side, as a receive does. */
  public static final int LOCAL_WRITE = 1;

  /** Peers may write. */
  public static final int REMOTE_WRITE = 1 << 1;

  /** Peers may read. */
  public static final int REMOTE_READ = 1 << 2;

  /** Peers may use atomics. */
  public static final int REMOTE_ATOMIC = 1 << 3;

  /** Optional: writes to the region may be reordered on the bus. Needs the iova2 registration. */
  public static final int RELAXED_ORDERING = 1 << 20;

  private Access() {}
}
