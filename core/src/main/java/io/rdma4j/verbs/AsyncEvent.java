package io.rdma4j.verbs;

import org.jspecify.annotations.Nullable;

/**
 * An asynchronous event of a device, acknowledged already (ibv_get_async_event(3)).
 *
 * @param type what happened
 * @param rawType number in enum ibv_event_type, kept for types this version does not know
 * @param source queue pair, completion queue or shared receive queue concerned; null for port and
 *     device events, and for an object closed meanwhile
 * @param port port concerned, 0 for other events
 */
public record AsyncEvent(Type type, int rawType, @Nullable AutoCloseable source, int port) {
  /** Event types in the order of enum ibv_event_type, then UNKNOWN. */
  public enum Type {
    /** Completion queue overrun; the queue and its queue pairs are lost. */
    CQ_ERR,
    /** Queue pair in error. */
    QP_FATAL,
    /** Invalid request seen by the responder. */
    QP_REQ_ERR,
    /** Access violation seen by the responder. */
    QP_ACCESS_ERR,
    /** First packet arrived in RTR. */
    COMM_EST,
    /** Send queue drained. */
    SQ_DRAINED,
    /** Path migrated. */
    PATH_MIG,
    /** Path migration failed. */
    PATH_MIG_ERR,
    /** Device gone. */
    DEVICE_FATAL,
    /** Port up. */
    PORT_ACTIVE,
    /** Port down. */
    PORT_ERR,
    /** LID changed. */
    LID_CHANGE,
    /** Partition key table changed. */
    PKEY_CHANGE,
    /** Subnet manager changed. */
    SM_CHANGE,
    /** Shared receive queue in error. */
    SRQ_ERR,
    /** Shared receive queue below its limit. */
    SRQ_LIMIT_REACHED,
    /** Last work request of a queue pair on a shared receive queue reached. */
    QP_LAST_WQE_REACHED,
    /** Subnet manager asks to register again. */
    CLIENT_REREGISTER,
    /** GID table changed. */
    GID_CHANGE,
    /** Work queue fatal. */
    WQ_FATAL,
    /** None of the above. */
    UNKNOWN;

    private static final Type[] VALUES = values();

    /** Maps the C number; anything new becomes {@link #UNKNOWN}. */
    public static Type of(int rawType) {
      return rawType >= 0 && rawType < VALUES.length - 1 ? VALUES[rawType] : UNKNOWN;
    }
  }
}
