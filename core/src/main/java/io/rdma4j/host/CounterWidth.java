package io.rdma4j.host;

import java.util.Map;
import java.util.regex.Pattern;

/**
 * How large a counter can get, and what it does then.
 *
 * <p>Port counters ({@code counters/}) stop at the largest value of their field in the PortCounters
 * attribute and stay there (InfiniBand specification, volume 1, 16.1.3.5; widths as in the kernel's
 * drivers/infiniband/core/sysfs.c). Newer devices have fields of 64 bits for data and packets.
 * Driver counters ({@code hw_counters/}) that stand in a register of 32 bits, as the queue counters
 * of mlx5 do, start again at zero.
 */
final class CounterWidth {
  private static final long FULL_32 = 0xffff_ffffL;
  private static final long HALF_32 = 0x8000_0000L;

  /** Bits of the fields of PortCounters. */
  private static final Map<String, Integer> FIELD_BITS =
      Map.ofEntries(
          Map.entry("symbol_error", 16),
          Map.entry("link_error_recovery", 8),
          Map.entry("link_downed", 8),
          Map.entry("port_rcv_errors", 16),
          Map.entry("port_rcv_remote_physical_errors", 16),
          Map.entry("port_rcv_switch_relay_errors", 16),
          Map.entry("port_xmit_discards", 16),
          Map.entry("port_xmit_constraint_errors", 8),
          Map.entry("port_rcv_constraint_errors", 8),
          Map.entry("local_link_integrity_errors", 4),
          Map.entry("excessive_buffer_overrun_errors", 4),
          Map.entry("VL15_dropped", 16),
          Map.entry("port_xmit_data", 32),
          Map.entry("port_rcv_data", 32),
          Map.entry("port_xmit_packets", 32),
          Map.entry("port_rcv_packets", 32),
          Map.entry("port_xmit_wait", 32));

  /** What some drivers keep among their counters although it goes up and down. */
  private static final Pattern GAUGE =
      Pattern.compile("hw_counters/(active_\\w+|watermark_\\w+|\\w+_watermark)");

  private CounterWidth() {}

  /** Whether the value is the last one of its field, so that the counter counts no longer. */
  static boolean isPegged(String counter, long value) {
    if (!counter.startsWith("counters/")) {
      return false;
    }
    Integer bits = FIELD_BITS.get(counter.substring("counters/".length()));
    return value == -1L || (bits != null && value == (1L << bits) - 1);
  }

  /**
   * Whether a fall is what a counter of 32 bits shows when it starts again at zero: it was in the
   * upper half of its range and is in the lower. A fall from the lower half would need more than
   * two thousand million events between two readings, so the counter was cleared instead.
   */
  static boolean canWrap(String counter, long earlier, long later) {
    boolean of32Bits =
        counter.startsWith("hw_counters/")
            || FIELD_BITS.getOrDefault(counter.replaceFirst("^counters/", ""), 0) == 32;
    return of32Bits
        && !isPegged(counter, earlier)
        && Long.compareUnsigned(earlier, FULL_32) <= 0
        && earlier >= HALF_32
        && later >= 0
        && later < HALF_32;
  }

  /** The increase over a wrap at 32 bits. */
  static long across(long earlier, long later) {
    return (later - earlier) & FULL_32;
  }

  static boolean isGauge(String counter) {
    return GAUGE.matcher(counter).matches();
  }
}
