package io.rdma4j.provider;

/**
 * Why a path ended.
 *
 * @param kind what sort of end
 * @param message one sentence with the object, the values and where to look next
 */
public record EndpointFailure(Kind kind, String message) {
  /** Sorts of ends. */
  public enum Kind {
    /** The peer closed in good order. */
    PEER_CLOSED,
    /** The peer process or host is gone, or no longer answers. */
    PEER_LOST,
    /** The peer broke the protocol. */
    PROTOCOL,
    /** The device or the path failed. */
    DEVICE
  }
}
