package io.rdma4j.os;

import java.util.BitSet;
import java.util.Optional;

/**
 * The kernel's list format for sets of CPUs and nodes, for example {@code 0-3,8,10-11}
 * (bitmap_parselist, "List format" in cpuset(7)). An empty text is the empty set: a node without
 * CPUs has one.
 */
final class IdList {
  private IdList() {}

  /**
   * Returns the set, or nothing when the text is no list or names an id of {@code limit} or more.
   *
   * @param limit guards against a mistaken text that would need a huge set
   */
  static Optional<BitSet> parse(String text, int limit) {
    BitSet ids = new BitSet();
    if (text.isBlank()) {
      return Optional.of(ids);
    }
    for (String range : text.split(",", -1)) {
      int dash = range.indexOf('-');
      int first = parseId(dash < 0 ? range : range.substring(0, dash), limit);
      int last = dash < 0 ? first : parseId(range.substring(dash + 1), limit);
      if (first < 0 || last < first) {
        return Optional.empty();
      }
      ids.set(first, last + 1);
    }
    return Optional.of(ids);
  }

  /** Returns the id, or -1 when it is none. */
  private static int parseId(String text, int limit) {
    try {
      int id = Integer.parseInt(text.strip());
      return id < limit ? id : -1;
    } catch (NumberFormatException notAnId) {
      return -1;
    }
  }
}
