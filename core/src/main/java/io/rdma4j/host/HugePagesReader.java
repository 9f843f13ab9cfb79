package io.rdma4j.host;

import io.rdma4j.host.HugePagesReport.Pool;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the huge-page pools and the mode of transparent huge pages. */
final class HugePagesReader {
  private static final String POOLS = "/sys/kernel/mm/hugepages";
  private static final String TRANSPARENT = "/sys/kernel/mm/transparent_hugepage/enabled";
  private static final Pattern POOL_NAME = Pattern.compile("hugepages-(\\d{1,12})kB");

  /** The kernel lists all modes and puts the one in force in brackets. */
  private static final Pattern IN_FORCE = Pattern.compile("\\[(\\w+)]");

  private HugePagesReader() {}

  static HugePagesReport read(Probe probe) {
    return new HugePagesReport(readPools(probe), readTransparent(probe));
  }

  private static @Nullable List<Pool> readPools(Probe probe) {
    List<String> names = probe.names(POOLS);
    if (names == null) {
      return null;
    }
    List<Pool> pools = new ArrayList<>();
    for (String name : names) {
      Matcher size = POOL_NAME.matcher(name);
      if (size.matches()) {
        String dir = POOLS + "/" + name;
        long pageBytes = Long.parseLong(size.group(1)) * 1024;
        pools.add(
            new Pool(
                pageBytes,
                probe.number(dir + "/nr_hugepages"),
                probe.number(dir + "/free_hugepages")));
      }
    }
    pools.sort(Comparator.comparingLong(Pool::pageBytes));
    return pools;
  }

  private static @Nullable String readTransparent(Probe probe) {
    String modes = probe.text(TRANSPARENT);
    if (modes == null) {
      return null;
    }
    Matcher inForce = IN_FORCE.matcher(modes);
    if (!inForce.find()) {
      probe.report(TRANSPARENT, "no mode in brackets: '" + modes + "'");
      return null;
    }
    return inForce.group(1);
  }
}
