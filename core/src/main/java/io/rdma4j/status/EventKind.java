package io.rdma4j.status;

import java.util.HashMap;
import java.util.Map;

/**
 * What an {@link Event} tells.
 *
 * <p>The code of a kind is what stands in journal files and never changes. Those of a device's
 * asynchronous events are its number in {@code enum ibv_event_type} plus one
 * (ibv_get_async_event(3)).
 */
public enum EventKind {
  /** A completion queue overran; its queue pairs are lost. */
  CQ_ERR(1, Severity.ERROR, "completion queue overrun"),
  /** A queue pair in error that the device can not attribute to one request. */
  QP_FATAL(2, Severity.ERROR, "queue pair in fatal error"),
  /** A peer sent an invalid request. */
  QP_REQ_ERR(3, Severity.ERROR, "invalid request from the peer"),
  /** A peer asked for memory that it has no right to. */
  QP_ACCESS_ERR(4, Severity.ERROR, "access violation by the peer"),
  /** The first packet came before the connection was announced. */
  COMM_EST(5, Severity.INFO, "communication established"),
  /** A send queue was drained. */
  SQ_DRAINED(6, Severity.INFO, "send queue drained"),
  /** A connection took its alternate path. */
  PATH_MIG(7, Severity.INFO, "path migrated"),
  /** A connection could not take its alternate path. */
  PATH_MIG_ERR(8, Severity.WARNING, "path migration failed"),
  /** A device is gone or has to be reset; everything on it is lost. */
  DEVICE_FATAL(9, Severity.ERROR, "device in fatal error"),
  /** A port came up. */
  PORT_ACTIVE(10, Severity.INFO, "port active"),
  /** A port went down. */
  PORT_ERR(11, Severity.ERROR, "port down"),
  /** The local identifier of a port changed (InfiniBand). */
  LID_CHANGE(12, Severity.WARNING, "LID changed"),
  /** The partition keys of a port changed. */
  PKEY_CHANGE(13, Severity.WARNING, "P_Key table changed"),
  /** A port has another subnet manager. */
  SM_CHANGE(14, Severity.INFO, "subnet manager changed"),
  /** A shared receive queue in error. */
  SRQ_ERR(15, Severity.ERROR, "shared receive queue in error"),
  /** A shared receive queue holds fewer receives than its limit. */
  SRQ_LIMIT_REACHED(16, Severity.INFO, "shared receive queue below its limit"),
  /** The last request of a queue pair on a shared receive queue was taken. */
  QP_LAST_WQE_REACHED(17, Severity.INFO, "last work request reached"),
  /** The subnet manager asks clients to register again. */
  CLIENT_REREGISTER(18, Severity.INFO, "client reregistration asked for"),
  /** The addresses of a port changed. */
  GID_CHANGE(19, Severity.INFO, "GID table changed"),
  /** A work queue in error. */
  WQ_FATAL(20, Severity.ERROR, "work queue in fatal error"),
  /** A device event that this version does not know; {@link Event#code} has its number. */
  UNKNOWN_DEVICE_EVENT(64, Severity.WARNING, "unknown device event"),

  /** rdma_cm: the peer's queue pair was disconnected. */
  CM_DISCONNECTED(65, Severity.INFO, "disconnected"),
  /** rdma_cm: the device of a connection is being removed. */
  CM_DEVICE_REMOVAL(66, Severity.ERROR, "device removal"),
  /** rdma_cm: the address of a connection moved to another device. */
  CM_ADDR_CHANGE(67, Severity.ERROR, "address moved"),

  /**
   * The first request of a queue pair that really failed. {@link Event#code} is its status, {@link
   * Event#vendorError} the device's, {@link Event#value} how many requests were flushed with it.
   */
  COMPLETION_ERROR(96, Severity.ERROR, "completion error"),
  /** Requests were flushed, {@link Event#value} of them, and no completion told why. */
  COMPLETION_FLUSHED(97, Severity.INFO, "requests flushed"),
  /** A verbs call on a connection's objects failed. */
  VERBS_CALL_FAILED(98, Severity.ERROR, "verbs call failed"),

  /** A connection is up. */
  CONNECTION_OPENED(128, Severity.INFO, "connection open"),
  /** A connection ended in good order. */
  CONNECTION_CLOSED(129, Severity.INFO, "connection closed"),
  /** A connection ended otherwise. */
  CONNECTION_LOST(130, Severity.ERROR, "connection lost"),
  /** A connection lost its path and looks for another. */
  PATH_LOST(131, Severity.ERROR, "path lost"),
  /** A connection goes on over another path; {@link Event#value} is how often it has moved. */
  PATH_MOVED(132, Severity.INFO, "path changed"),
  /** Nothing was heard of a peer for some heartbeats; {@link Event#value} is milliseconds. */
  PEER_SILENT(133, Severity.WARNING, "peer silent"),
  /** A silent peer was heard again; {@link Event#value} is the milliseconds it was silent. */
  PEER_HEARD(134, Severity.INFO, "peer heard again"),
  /** The bootstrap connection ended without a goodbye: the peer's process or its host did that. */
  PEER_SOCKET_CLOSED(135, Severity.INFO, "peer closed the bootstrap connection"),
  /** What the peer saw of a fault that both have; the text has it. */
  PEER_DIGEST(136, Severity.INFO, "what the peer saw"),
  /** A path was given up in good order, for another one; nothing is wrong at this end. */
  PATH_LEFT(137, Severity.INFO, "path left"),
  /** The peer let a close wait for its goodbye; {@link Event#value} is milliseconds. */
  GOODBYE_UNANSWERED(138, Severity.INFO, "goodbye not answered"),

  /**
   * A device refused to register memory. {@link Event#code} is the errno, {@link Event#value} the
   * bytes.
   */
  REGISTRATION_FAILED(160, Severity.ERROR, "registration failed"),

  /** Counters or measurements show trouble though nothing has failed yet. */
  SYMPTOM(192, Severity.WARNING, "symptom"),

  /** A process began to write this journal. */
  JOURNAL_OPENED(224, Severity.INFO, "journal opened"),
  /** A kind that this version does not know, read from a journal of a later one. */
  UNKNOWN(255, Severity.WARNING, "unknown");

  /** Whether an event is trouble. */
  public enum Severity {
    /** Part of normal operation, or a consequence; explains incidents, opens none. */
    INFO,
    /** Something is worse than it should be. */
    WARNING,
    /** Something has failed. */
    ERROR
  }

  private static final Map<Integer, EventKind> BY_CODE = new HashMap<>();

  static {
    for (EventKind kind : values()) {
      BY_CODE.put(kind.code, kind);
    }
  }

  private final int code;
  private final Severity severity;
  private final String text;

  EventKind(int code, Severity severity, String text) {
    this.code = code;
    this.severity = severity;
    this.text = text;
  }

  /** Returns what stands for this kind in a journal file. */
  public int code() {
    return code;
  }

  /** Returns whether it is trouble. */
  public Severity severity() {
    return severity;
  }

  /** Returns it in words. */
  public String text() {
    return text;
  }

  /** Returns the kind of a code; {@link #UNKNOWN} for one of a later version. */
  public static EventKind of(int code) {
    return BY_CODE.getOrDefault(code, UNKNOWN);
  }

  /** Returns the kind of a device's asynchronous event by its C number. */
  public static EventKind ofDeviceEvent(int rawType) {
    return rawType >= 0 && rawType < WQ_FATAL.code ? of(rawType + 1) : UNKNOWN_DEVICE_EVENT;
  }

  /** Returns whether this is an asynchronous event of a device. */
  public boolean isDeviceEvent() {
    return code <= UNKNOWN_DEVICE_EVENT.code;
  }
}
