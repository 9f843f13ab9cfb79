package io.rdma4j.verbs;

import org.jspecify.annotations.Nullable;

/**
 * An event of an rdma_cm identifier, acknowledged already (rdma_get_cm_event(3)).
 *
 * @param type what happened
 * @param status 0, a negative errno, or for REJECTED the reason of the transport
 * @param privateData what the peer sent along, possibly with trailing zeros; empty when none
 * @param responderResources what the peer offers as responder
 * @param initiatorDepth what the peer wants as initiator
 * @param newId for CONNECT_REQUEST the identifier of the new connection, with an event channel of
 *     its own; whoever takes the event closes it
 */
public record CmEvent(
    Type type,
    int status,
    byte[] privateData,
    int responderResources,
    int initiatorDepth,
    @Nullable CmId newId) {
  /** Event types in the order of enum rdma_cm_event_type, then UNKNOWN. */
  public enum Type {
    /** Address resolved. */
    ADDR_RESOLVED,
    /** Address not resolved. */
    ADDR_ERROR,
    /** Route resolved. */
    ROUTE_RESOLVED,
    /** Route not resolved. */
    ROUTE_ERROR,
    /** A peer wants to connect. */
    CONNECT_REQUEST,
    /** The peer answered; only without a queue pair of the id. */
    CONNECT_RESPONSE,
    /** Connecting failed. */
    CONNECT_ERROR,
    /** Peer not reachable. */
    UNREACHABLE,
    /** Peer refused. */
    REJECTED,
    /** Connected. */
    ESTABLISHED,
    /** Disconnected. */
    DISCONNECTED,
    /** Device gone. */
    DEVICE_REMOVAL,
    /** Multicast joined. */
    MULTICAST_JOIN,
    /** Multicast error. */
    MULTICAST_ERROR,
    /** Address changed by bonding. */
    ADDR_CHANGE,
    /** Time-wait is over. */
    TIMEWAIT_EXIT,
    /** None of the above. */
    UNKNOWN;

    private static final Type[] VALUES = values();

    /** Maps the C number; anything new becomes {@link #UNKNOWN}. */
    public static Type of(int rawType) {
      return rawType >= 0 && rawType < VALUES.length - 1 ? VALUES[rawType] : UNKNOWN;
    }
  }
}
