package io.rdma4j.verbs;

/**
 * State of a port (struct ibv_port_attr).
 *
 * @param state link state
 * @param activeMtuBytes path MTU in bytes: 256 to 4096
 * @param maxMessageBytes largest message of one work request
 * @param gidTableLength entries of the GID table
 * @param lid local identifier, 0 on Ethernet
 * @param linkLayer InfiniBand or Ethernet
 */
public record PortAttributes(
    State state,
    int activeMtuBytes,
    long maxMessageBytes,
    int gidTableLength,
    int lid,
    LinkLayer linkLayer) {
  /** Port states in the order of enum ibv_port_state. */
  public enum State {
    /** Reserved. */
    NOP,
    /** Physically down. */
    DOWN,
    /** Up, not yet configured by a subnet manager. */
    INIT,
    /** Configured, not yet active. */
    ARMED,
    /** Carries data. */
    ACTIVE,
    /** Carries data, logical link recently lost. */
    ACTIVE_DEFER
  }

  /** Link layers of a port. */
  public enum LinkLayer {
    /** Not reported. */
    UNSPECIFIED,
    /** InfiniBand. */
    INFINIBAND,
    /** Ethernet: RoCE or iWARP. */
    ETHERNET
  }
}
