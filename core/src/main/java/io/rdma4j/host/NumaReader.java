package io.rdma4j.host;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the NUMA nodes that are online. */
final class NumaReader {
  private static final String NODES = "/sys/devices/system/node";
  private static final Pattern NODE = Pattern.compile("node(\\d{1,4})");
  private static final Pattern NO_MEMORY = Pattern.compile("MemTotal:\\s+0 kB");
  private static final Pattern RANGE = Pattern.compile("(\\d{1,4})(?:-(\\d{1,4}))?");

  private NumaReader() {}

  /** Returns the nodes in the order of their numbers, null when sysfs does not show them. */
  static @Nullable List<NumaNodeReport> read(Probe probe) {
    List<String> names = probe.names(NODES);
    if (names == null) {
      return null;
    }
    Set<Integer> withMemory = ids(probe.text(NODES + "/has_memory"));
    List<NumaNodeReport> nodes = new ArrayList<>();
    for (String name : names) {
      Matcher node = NODE.matcher(name);
      if (node.matches()) {
        int id = Integer.parseInt(node.group(1));
        String dir = NODES + "/" + name;
        boolean hasMemory = withMemory == null ? isNotEmpty(probe, dir) : withMemory.contains(id);
        nodes.add(new NumaNodeReport(id, hasMemory, distances(probe.text(dir + "/distance"))));
      }
    }
    return nodes;
  }

  /** A node counts as one with memory unless something says otherwise. */
  private static boolean isNotEmpty(Probe probe, String dir) {
    String meminfo = probe.text(dir + "/meminfo");
    return meminfo == null || !NO_MEMORY.matcher(meminfo).find();
  }

  /** The kernel lists numbers as "0-2,5". */
  private static @Nullable Set<Integer> ids(@Nullable String list) {
    if (list == null) {
      return null;
    }
    Set<Integer> ids = new HashSet<>();
    Matcher range = RANGE.matcher(list);
    while (range.find()) {
      int first = Integer.parseInt(range.group(1));
      int last = range.group(2) == null ? first : Integer.parseInt(range.group(2));
      for (int id = first; id <= last; id++) {
        ids.add(id);
      }
    }
    return ids;
  }

  private static List<Integer> distances(@Nullable String row) {
    return row == null || !row.matches("\\d{1,4}( +\\d{1,4})*")
        ? List.of()
        : Pattern.compile(" +").splitAsStream(row).map(Integer::valueOf).toList();
  }
}
