package io.rdma4j.host;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A port of an RDMA device.
 *
 * @param number port number, from 1
 * @param state logical state as the kernel names it, for example {@code ACTIVE}; null when unknown
 * @param linkLayer {@code InfiniBand} or {@code Ethernet}; null when unknown
 * @param netdev network device that carries the port, null on InfiniBand and when unknown
 * @param rate link rate as the kernel words it
 * @param mtuBytes path MTU that the port can carry; null when sysfs does not tell
 * @param mtuSource how {@code mtuBytes} was found, or why it is unknown
 * @param gids filled slots of the GID table, in order of their index
 * @param recommendedGid the entry to connect from; null when the table has none or the transport
 *     uses none
 * @param roce how RoCE traffic of the port is classed and controlled; null on other transports
 */
public record PortReport(
    int number,
    @Nullable String state,
    @Nullable String linkLayer,
    @Nullable String netdev,
    @Nullable String rate,
    @Nullable Integer mtuBytes,
    String mtuSource,
    List<GidReport> gids,
    @Nullable GidReport recommendedGid,
    @Nullable RoceSettings roce) {

  /** Copies the list of GIDs. */
  public PortReport {
    gids = List.copyOf(gids);
  }

  /** Whether the port can carry traffic now. */
  public boolean isActive() {
    return "ACTIVE".equals(state);
  }
}
