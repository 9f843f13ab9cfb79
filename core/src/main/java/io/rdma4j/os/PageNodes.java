package io.rdma4j.os;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The nodes on which the pages of a mapping lie at one moment.
 *
 * @param bytesByNode bytes present on each node that has some
 * @param absentBytes bytes that are not present on any
 * @param unknownBytes bytes of which the kernel did not say
 * @param reason why the kernel said nothing at all; empty when it did
 */
public record PageNodes(
    SortedMap<Integer, Long> bytesByNode, long absentBytes, long unknownBytes, String reason) {
  private static final int PAGES_PER_CALL = 4096;

  /** Copies the map. */
  public PageNodes {
    bytesByNode = Collections.unmodifiableSortedMap(new TreeMap<>(bytesByNode));
  }

  /** Asks for every page: one system call for 4096 of them, move_pages(2) without a target. */
  static PageNodes query(long address, long lengthBytes) {
    long pageBytes = Mapping.pageSizeBytes();
    SortedMap<Integer, Long> bytesByNode = new TreeMap<>();
    long absentBytes = 0;
    long unknownBytes = 0;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment pages = arena.allocate(JAVA_LONG, PAGES_PER_CALL);
      MemorySegment status = arena.allocate(JAVA_INT, PAGES_PER_CALL);
      for (long first = 0; first < lengthBytes; first += PAGES_PER_CALL * pageBytes) {
        int count = (int) Math.min(PAGES_PER_CALL, (lengthBytes - first) / pageBytes);
        for (int i = 0; i < count; i++) {
          pages.setAtIndex(JAVA_LONG, i, address + first + i * pageBytes);
        }
        int result = LibC.queryPages(pages, count, status);
        if (result < 0) {
          return unanswered(lengthBytes, -result);
        }
        for (int i = 0; i < count; i++) {
          int node = status.getAtIndex(JAVA_INT, i);
          if (node >= 0) {
            bytesByNode.merge(node, pageBytes, Long::sum);
          } else if (node == -Errno.ENOENT || node == -Errno.EFAULT) {
            absentBytes += pageBytes;
          } else {
            unknownBytes += pageBytes;
          }
        }
      }
    }
    return new PageNodes(bytesByNode, absentBytes, unknownBytes, "");
  }

  private static PageNodes unanswered(long lengthBytes, int errno) {
    if (!Placement.isNormal(errno)) {
      throw new OsException("move_pages", "length " + lengthBytes, errno, "");
    }
    return new PageNodes(new TreeMap<>(), 0, lengthBytes, Placement.explain("move_pages", errno));
  }
}
