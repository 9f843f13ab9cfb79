package io.rdma4j.os;

/**
 * The outcome of asking for memory of one node. That it can not be had is a normal one: the memory
 * then comes from where the thread that populates it runs.
 *
 * @param node the node asked for; {@link NumaTopology#UNKNOWN} when none was
 * @param errno why the kernel refused; 0 when it did not
 */
public record Placement(int node, int errno) {
  /** Returns true when pages populated from now on come from the node while it has free ones. */
  public boolean isBound() {
    return node != NumaTopology.UNKNOWN && errno == 0;
  }

  /** Returns why the memory is bound to no node; empty when it is bound. */
  public String reason() {
    if (node == NumaTopology.UNKNOWN) {
      return "the node is not known";
    }
    return errno == 0 ? "" : explain("mbind(node " + node + ")", errno);
  }

  /** Returns true for refusals that belong to where the process runs, not to what it asked. */
  static boolean isNormal(int errno) {
    return switch (errno) {
      case Errno.EPERM, Errno.EACCES, Errno.ENOSYS, Errno.EINVAL, Errno.ENOMEM -> true;
      default -> false;
    };
  }

  static String explain(String call, int errno) {
    String cause =
        switch (errno) {
          case Errno.EPERM, Errno.EACCES ->
              "; most likely a seccomp profile, as containers without CAP_SYS_NICE have one";
          case Errno.ENOSYS -> "; this kernel has no NUMA support, or a sandbox hides it";
          case Errno.EINVAL ->
              "; the node is offline, has no memory, or is not in the cpuset's mems";
          default -> "";
        };
    return call + ": " + Errno.describe(errno) + cause;
  }
}
