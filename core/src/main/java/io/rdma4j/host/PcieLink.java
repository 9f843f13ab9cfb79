package io.rdma4j.host;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The PCI Express link of a card.
 *
 * @param gigatransfers speed of a lane in use, in GT/s
 * @param lanes lanes in use
 * @param maxGigatransfers speed that the card can do
 * @param maxLanes lanes that the card has
 */
public record PcieLink(double gigatransfers, int lanes, double maxGigatransfers, int maxLanes) {
  private static final Pattern SPEED = Pattern.compile("(\\d{1,3}(?:\\.\\d{1,2})?) GT/s.*");

  /** Whether the slot gives the card less than it can do. */
  public boolean isDegraded() {
    return lanes < maxLanes || gigatransfers < maxGigatransfers;
  }

  /** Returns null where sysfs does not tell, as for virtual functions. */
  static @Nullable PcieLink read(Probe probe, String deviceDir) {
    String dir = deviceDir + "/device/";
    Double speed = speed(probe.optionalText(dir + "current_link_speed"));
    Double maxSpeed = speed(probe.optionalText(dir + "max_link_speed"));
    int lanes = lanes(probe.optionalText(dir + "current_link_width"));
    int maxLanes = lanes(probe.optionalText(dir + "max_link_width"));
    return speed == null || maxSpeed == null || lanes == 0 || maxLanes == 0
        ? null
        : new PcieLink(speed, lanes, maxSpeed, maxLanes);
  }

  private static @Nullable Double speed(@Nullable String text) {
    Matcher speed = SPEED.matcher(text == null ? "" : text);
    return speed.matches() ? Double.valueOf(speed.group(1)) : null;
  }

  /** Zero, and 255 for a link that is not up, are no width. */
  private static int lanes(@Nullable String text) {
    return text != null && text.matches("[1-9]\\d?") ? Integer.parseInt(text) : 0;
  }
}
