package io.rdma4j.tools.doctor;

/** Byte counts as people write them. */
final class Sizes {
  private static final String[] UNITS = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

  private Sizes() {}

  /** Returns the count in the largest binary unit that divides it, so nothing is rounded. */
  static String format(long bytes) {
    int unit = 0;
    long value = bytes;
    while (value != 0 && value % 1024 == 0 && unit < UNITS.length - 1) {
      value /= 1024;
      unit++;
    }
    return value + " " + UNITS[unit];
  }
}
