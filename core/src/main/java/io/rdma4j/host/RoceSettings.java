package io.rdma4j.host;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What sysfs and configfs tell of how a port's RoCE traffic is classed and controlled. Most of it
 * is shown by drivers of NVIDIA's own package alone; null is the usual answer, and means unknown.
 *
 * @param trust what the card classes packets by, {@code dscp} or {@code pcp}
 * @param notificationPriorities priorities on which the port answers ECN marks with notifications
 *     (DCQCN notification point)
 * @param reactionPriorities priorities on which it slows down when notified (reaction point)
 * @param trafficClass traffic class that the device puts into every packet, 0 to 255; its upper six
 *     bits are the DSCP
 * @param defaultTos type of service that rdma_cm gives new connections
 */
public record RoceSettings(
    @Nullable String trust,
    @Nullable List<Integer> notificationPriorities,
    @Nullable List<Integer> reactionPriorities,
    @Nullable Integer trafficClass,
    @Nullable Integer defaultTos) {
  private static final int PRIORITIES = 8;
  private static final Pattern TRAFFIC_CLASS = Pattern.compile("(?:.*=)?(\\d{1,3})");

  static RoceSettings read(Probe probe, String device, int port, @Nullable String netdev) {
    String net = "/sys/class/net/" + netdev;
    String configured = "/sys/kernel/config/rdma_cm/" + device + "/ports/" + port;
    return new RoceSettings(
        netdev == null ? null : probe.optionalText(net + "/qos/trust"),
        netdev == null ? null : enabled(probe, net + "/ecn/roce_np/enable"),
        netdev == null ? null : enabled(probe, net + "/ecn/roce_rp/enable"),
        number(
            probe.optionalText(
                "/sys/class/infiniband/" + device + "/tc/" + port + "/traffic_class")),
        number(probe.optionalText(configured + "/default_roce_tos")));
  }

  private static @Nullable List<Integer> enabled(Probe probe, String dir) {
    if (probe.names(dir) == null) {
      return null;
    }
    List<Integer> priorities = new ArrayList<>();
    for (int priority = 0; priority < PRIORITIES; priority++) {
      if ("1".equals(probe.optionalText(dir + "/" + priority))) {
        priorities.add(priority);
      }
    }
    return List.copyOf(priorities);
  }

  private static @Nullable Integer number(@Nullable String text) {
    Matcher number = TRAFFIC_CLASS.matcher(text == null ? "" : text);
    return number.matches() ? Integer.valueOf(number.group(1)) : null;
  }

  /** The DSCP that packets carry as far as settings tell, null when they do not. */
  public @Nullable Integer dscp() {
    Integer octet = trafficClass != null ? trafficClass : defaultTos;
    return octet == null ? null : octet >> 2;
  }
}
