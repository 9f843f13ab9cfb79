package io.rdma4j.testkit.verbs;

/** The errnos of Linux that scripts use most. */
public final class Errno {
  /** I/O error. */
  public static final int EIO = 5;

  /** Cannot allocate memory; of a post: the queue is full. */
  public static final int ENOMEM = 12;

  /** Object has users. */
  public static final int EBUSY = 16;

  /** No such device. */
  public static final int ENODEV = 19;

  /** Invalid argument. */
  public static final int EINVAL = 22;

  /** Not offered by the provider. */
  public static final int EOPNOTSUPP = 95;

  /** Address in use. */
  public static final int EADDRINUSE = 98;

  /** Address not available. */
  public static final int EADDRNOTAVAIL = 99;

  /** Timed out. */
  public static final int ETIMEDOUT = 110;

  private Errno() {}
}
