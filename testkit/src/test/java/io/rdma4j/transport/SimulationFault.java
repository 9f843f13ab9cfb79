package io.rdma4j.transport;

/** What a simulation does to an established connection. */
enum SimulationFault {
  /** A device event that concerns nobody. */
  STRAY_EVENT(false),
  /** Receives taken in part, to be resumed. */
  PARTIAL_RECEIVES(false),
  /** A handler that throws. */
  HANDLER_THROWS(false),
  /** Nobody looks after one node for a while. */
  PAUSE(false),
  /** Sends in both directions no longer arrive; the bootstrap connection lives. */
  PATH_CUT(true),
  /** Nothing arrives any more, neither on the path nor on the bootstrap connection. */
  CABLE_CUT(true),
  /** A message arrives, and its sender is told that it failed. */
  ACKNOWLEDGEMENT_LOST(true),
  /** A send fails at the device. */
  SEND_FAILS(true),
  /** The queue pair goes into error, and nothing tells why. */
  QUEUE_PAIR_ERROR(true),
  /** An event of queue pair, completion queue, port or device. */
  FATAL_EVENT(true),
  /** A post is refused with room in the queue. */
  POST_REFUSED(true),
  /** Polling fails. */
  POLL_REFUSED(true),
  /** The device keeps every completion, and the queue pair goes into error. */
  DEVICE_STUCK(true),
  /** The bootstrap connection is reset. */
  SOCKET_RESET(true),
  /** One node stands still for longer than the liveness timeout. */
  SILENCE(true);

  /** Whether the connection may end, and messages may be lost with it. */
  final boolean harms;

  SimulationFault(boolean harms) {
    this.harms = harms;
  }
}
