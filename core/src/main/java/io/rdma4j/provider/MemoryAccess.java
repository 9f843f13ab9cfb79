package io.rdma4j.provider;

import java.util.StringJoiner;

/**
 * Rights to registered memory, as bits that can be joined. Local read is always granted. Remote
 * write and remote atomic need {@link #LOCAL_WRITE} as well, as ibv_reg_mr(3) demands.
 */
public final class MemoryAccess {
  /** Local read only: sends from the memory. */
  public static final int LOCAL_READ = 0;

  /** The device may write into the memory on behalf of this side, as a receive does. */
  public static final int LOCAL_WRITE = 1;

  /** Peers may write. */
  public static final int REMOTE_WRITE = 1 << 1;

  /** Peers may read. */
  public static final int REMOTE_READ = 1 << 2;

  /** Peers may use atomics. */
  public static final int REMOTE_ATOMIC = 1 << 3;

  private static final int REMOTE = REMOTE_WRITE | REMOTE_READ | REMOTE_ATOMIC;
  private static final int WRITING = LOCAL_WRITE | REMOTE_WRITE | REMOTE_ATOMIC;
  private static final int ALL = REMOTE | WRITING;

  private MemoryAccess() {}

  /** Returns true when the rights can be granted together and all bits are known. */
  public static boolean isValid(int access) {
    return (access & ~ALL) == 0
        && ((access & (REMOTE_WRITE | REMOTE_ATOMIC)) == 0 || (access & LOCAL_WRITE) != 0);
  }

  /**
   * Checks that the rights can be granted together.
   *
   * @throws IllegalArgumentException for unknown bits, or remote writing without local writing
   */
  public static void check(int access) {
    if (!isValid(access)) {
      throw new IllegalArgumentException(
          (access & ~ALL) != 0
              ? "access 0x%x has unknown bits; known: 0x%x".formatted(access, ALL)
              : toString(access) + ": REMOTE_WRITE and REMOTE_ATOMIC need LOCAL_WRITE as well");
    }
  }

  /** Returns true when peers get any right. */
  public static boolean isRemote(int access) {
    return (access & REMOTE) != 0;
  }

  /** Returns true when the device may write, for this side or for peers. */
  public static boolean isWriting(int access) {
    return (access & WRITING) != 0;
  }

  /** Returns true when {@code granted} has every right of {@code wanted}. */
  public static boolean includes(int granted, int wanted) {
    return (granted & wanted) == wanted;
  }

  /** Returns the names of the rights, for messages. */
  public static String toString(int access) {
    StringJoiner names = new StringJoiner("|").setEmptyValue("LOCAL_READ");
    addName(names, access, LOCAL_WRITE, "LOCAL_WRITE");
    addName(names, access, REMOTE_WRITE, "REMOTE_WRITE");
    addName(names, access, REMOTE_READ, "REMOTE_READ");
    addName(names, access, REMOTE_ATOMIC, "REMOTE_ATOMIC");
    return names.toString();
  }

  private static void addName(StringJoiner names, int access, int right, String name) {
    if ((access & right) != 0) {
      names.add(name);
    }
  }
}
