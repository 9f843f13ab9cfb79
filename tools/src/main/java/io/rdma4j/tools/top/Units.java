package io.rdma4j.tools.top;

import java.util.Locale;

/** Figures as people read them, each within a fixed width. */
final class Units {
  private static final String[] BYTES = {"B", "KiB", "MiB", "GiB", "TiB"};

  private Units() {}

  /** Returns bytes with a binary unit, whole where they are. */
  static String bytes(long bytes) {
    double amount = bytes;
    int unit = 0;
    while (amount >= 1024 && unit < BYTES.length - 1) {
      amount /= 1024;
      unit++;
    }
    String format = amount == Math.rint(amount) ? "%.0f %s" : "%.1f %s";
    return String.format(Locale.ROOT, format, amount, BYTES[unit]);
  }

  /** Returns a duration with three digits or so. */
  static String duration(long ns) {
    if (ns < 1_000) {
      return ns + " ns";
    }
    if (ns < 1_000_000) {
      return String.format(Locale.ROOT, "%.1f us", ns / 1e3);
    }
    return ns < 1_000_000_000
        ? String.format(Locale.ROOT, "%.1f ms", ns / 1e6)
        : String.format(Locale.ROOT, "%.1f s", ns / 1e9);
  }

  /** Returns a share in percent, a dash when there is none. */
  static String percent(double share) {
    return Double.isNaN(share) ? "-" : String.format(Locale.ROOT, "%.1f %%", 100 * share);
  }

  /** Returns a rate. */
  static String rate(double perSecond) {
    return String.format(Locale.ROOT, "%,.0f/s", perSecond);
  }
}
