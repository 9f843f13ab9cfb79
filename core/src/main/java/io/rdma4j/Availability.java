package io.rdma4j;

/**
 * Whether something optional (a library, a device, a provider) can be used here, and why.
 *
 * @param usable true when it can be used
 * @param reason one sentence: what was found, or what is missing and how to get it
 */
public record Availability(boolean usable, String reason) {
  /** Returns a usable state described by {@code what}. */
  public static Availability usable(String what) {
    return new Availability(true, what);
  }

  /** Returns an unusable state with its reason. */
  public static Availability unusable(String reason) {
    return new Availability(false, reason);
  }
}
