package io.rdma4j.os;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Bytes present, and bytes in huge pages, of a range of memory: from /proc/self/smaps, proc(5). */
record PageCounts(long residentBytes, long hugeBytes) {
  private static final Pattern AREA = Pattern.compile("([0-9a-f]+)-([0-9a-f]+) .*");
  private static final Pattern FIELD = Pattern.compile("(\\w+):\\s+(\\d+) kB");

  /**
   * Adds up the areas that lie within a range.
   *
   * @param smaps lines of smaps: for each area its addresses, then its fields
   */
  static PageCounts within(List<String> smaps, long address, long lengthBytes) {
    long resident = 0;
    long huge = 0;
    boolean inside = false;
    for (String line : smaps) {
      Matcher area = AREA.matcher(line);
      if (area.matches()) {
        // Addresses of the kernel's own pages have all 64 bits.
        long start = Long.parseUnsignedLong(area.group(1), 16);
        long end = Long.parseUnsignedLong(area.group(2), 16);
        inside = start >= address && end > start && end <= address + lengthBytes;
        continue;
      }
      Matcher field = FIELD.matcher(line);
      if (inside && field.matches()) {
        long bytes = Long.parseLong(field.group(2)) * 1024;
        switch (String.valueOf(field.group(1))) {
          case "Rss" -> resident += bytes;
          case "AnonHugePages", "ShmemPmdMapped", "FilePmdMapped" -> huge += bytes;
          // Explicit huge pages are not in Rss.
          case "Private_Hugetlb", "Shared_Hugetlb" -> {
            resident += bytes;
            huge += bytes;
          }
          default -> {}
        }
      }
    }
    return new PageCounts(resident, huge);
  }
}
