package io.rdma4j.host;

import io.rdma4j.host.CgroupReport.RdmaQuota;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the memory and rdma controllers of the process behind {@code /proc/self}. */
final class CgroupReader {
  private static final String MOUNT = "/sys/fs/cgroup";
  private static final long UNLIMITED = LimitsReport.UNLIMITED;

  /** Version 1 says "no limit" with the largest number of pages, in bytes. */
  private static final long NO_LIMIT_OF_VERSION_1 = 1L << 62;

  private static final Pattern RDMA_ROW =
      Pattern.compile("(\\S+) hca_handle=(\\w+) hca_object=(\\w+)");

  private final Probe probe;

  private CgroupReader(Probe probe) {
    this.probe = probe;
  }

  static CgroupReport read(Probe probe) {
    return new CgroupReader(probe).read();
  }

  private CgroupReport read() {
    String memory = directory("memory");
    String rdma = directory("rdma");
    boolean first = probe.names(MOUNT + "/memory") != null || probe.names(MOUNT + "/rdma") != null;
    boolean any = first || probe.names(MOUNT) != null;
    Memory limit = first ? memoryOfVersion1(memory) : memoryOfVersion2(memory);
    Integer version = !any ? null : first ? 1 : 2;
    return new CgroupReport(version, limit.maxBytes, limit.usedBytes, quotas(rdma));
  }

  /**
   * The process's group of a controller. Within a cgroup namespace of a container the path may be
   * that of the host, which the mount does not show: its own group is then the root of the mount.
   */
  private String directory(String controller) {
    String mount = probe.names(MOUNT + "/" + controller) == null ? MOUNT : MOUNT + "/" + controller;
    String groups = probe.optionalText("/proc/self/cgroup");
    if (groups != null) {
      for (String line : groups.lines().toList()) {
        String[] parts = line.split(":", 3);
        boolean mine =
            mount.equals(MOUNT)
                ? line.startsWith("0::")
                : parts.length == 3 && List.of(parts[1].split(",")).contains(controller);
        if (mine && probe.names(mount + parts[2]) != null) {
          return (mount + parts[2]).replaceFirst("/+$", "");
        }
      }
    }
    return mount;
  }

  private record Memory(@Nullable Long maxBytes, @Nullable Long usedBytes) {}

  private Memory memoryOfVersion1(String directory) {
    Long max = probe.number(directory + "/memory.limit_in_bytes");
    Long used = probe.number(directory + "/memory.usage_in_bytes");
    return new Memory(max != null && max >= NO_LIMIT_OF_VERSION_1 ? (Long) UNLIMITED : max, used);
  }

  private Memory memoryOfVersion2(String directory) {
    Memory smallest = new Memory(null, null);
    for (String group : upwards(directory)) {
      String text = probe.text(group + "/memory.max");
      Long max = text == null ? null : limit(group + "/memory.max", text);
      if (max != null && (smallest.maxBytes == null || max < smallest.maxBytes)) {
        smallest = new Memory(max, probe.number(group + "/memory.current"));
      }
    }
    return smallest;
  }

  private List<RdmaQuota> quotas(String directory) {
    Map<String, RdmaQuota> smallest = new TreeMap<>();
    for (String group : upwards(directory)) {
      Map<String, long[]> max = rows(group + "/rdma.max");
      Map<String, long[]> current = rows(group + "/rdma.current");
      max.forEach(
          (device, allowed) -> {
            long[] used = current.getOrDefault(device, new long[2]);
            smallest.merge(
                device,
                new RdmaQuota(device, allowed[0], allowed[1], used[0], used[1]),
                CgroupReader::tighter);
          });
    }
    return List.copyOf(smallest.values());
  }

  private static RdmaQuota tighter(RdmaQuota a, RdmaQuota b) {
    boolean handlesOfA =
        left(a.maxHandles(), a.usedHandles()) <= left(b.maxHandles(), b.usedHandles());
    boolean objectsOfA =
        left(a.maxObjects(), a.usedObjects()) <= left(b.maxObjects(), b.usedObjects());
    return new RdmaQuota(
        a.device(),
        handlesOfA ? a.maxHandles() : b.maxHandles(),
        objectsOfA ? a.maxObjects() : b.maxObjects(),
        handlesOfA ? a.usedHandles() : b.usedHandles(),
        objectsOfA ? a.usedObjects() : b.usedObjects());
  }

  private static long left(long max, long used) {
    return max == UNLIMITED ? UNLIMITED : max - used;
  }

  private Map<String, long[]> rows(String path) {
    Map<String, long[]> rows = new TreeMap<>();
    String text = probe.text(path);
    if (text != null) {
      for (String line : text.lines().toList()) {
        Matcher row = RDMA_ROW.matcher(line.strip());
        Long handles = row.matches() ? limit(path, row.group(2)) : null;
        Long objects = row.matches() ? limit(path, row.group(3)) : null;
        if (handles == null || objects == null) {
          probe.report(path, "not a quota: '" + line + "'");
        } else {
          rows.put(row.group(1), new long[] {handles, objects});
        }
      }
    }
    return rows;
  }

  private @Nullable Long limit(String path, String text) {
    return text.equals("max") ? (Long) UNLIMITED : probe.parse(path, text);
  }

  private static List<String> upwards(String directory) {
    List<String> groups = new ArrayList<>();
    for (String at = directory; at.startsWith(MOUNT); at = at.substring(0, at.lastIndexOf('/'))) {
      groups.add(at);
    }
    return groups;
  }
}
