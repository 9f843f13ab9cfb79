package io.rdma4j.provider.verbs;

/** A post that the device refused although its queue has room; the endpoint fails with it. */
final class PostRefusedException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  PostRefusedException(String call, int errno, int inUse, int depth) {
    super(
        String.format(
            "%s was refused with errno %d although only %d of %d places are in use",
            call, errno, inUse, depth));
  }
}
