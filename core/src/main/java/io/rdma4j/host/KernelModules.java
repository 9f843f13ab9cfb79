package io.rdma4j.host;

import java.util.List;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Finds the RDMA modules of a kernel, loaded or built in. */
final class KernelModules {
  private static final Pattern RDMA =
      Pattern.compile(
          "(ib|iw|rdma)_\\w+|mlx[45]_\\w+|irdma|i40iw|siw|efa|erdma|hns_roce\\w*|bnxt_re|qedr|"
              + "ocrdma|hfi1|mana_ib|vmw_pvrdma");

  private KernelModules() {}

  /** Returns their names in order, null when neither list is there. */
  static @Nullable List<String> read(Probe probe) {
    // A built-in module is in /sys/module only, and only when it has parameters.
    List<String> inSysfs = probe.names("/sys/module");
    String inProc = probe.text("/proc/modules");
    if (inSysfs == null && inProc == null) {
      return null;
    }
    TreeSet<String> found = new TreeSet<>(inSysfs == null ? List.of() : inSysfs);
    if (inProc != null) {
      inProc.lines().map(line -> line.split(" ", 2)[0]).forEach(found::add);
    }
    found.removeIf(name -> !RDMA.matcher(name).matches());
    return List.copyOf(found);
  }
}
