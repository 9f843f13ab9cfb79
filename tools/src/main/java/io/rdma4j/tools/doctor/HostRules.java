package io.rdma4j.tools.doctor;

import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.HostReport.Unreadable;
import io.rdma4j.host.HugePagesReport.Pool;
import io.rdma4j.host.LibraryReport;
import io.rdma4j.host.LimitsReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Judges what all devices of a host share: libraries, limits, huge pages. */
final class HostRules {
  /** Unit in which the pool registers memory; under this limit it cannot register even one. */
  private static final long SLAB_BYTES = 2L << 20;

  /** A pool of a few hundred MiB and the queues of a few hundred connections fit below it. */
  private static final long COMFORTABLE_MEMLOCK_BYTES = 1L << 30;

  /** What a process gets by default; Java raises it to the hard limit by itself. */
  private static final int FEW_OPEN_FILES = 1024;

  private static final int UNREADABLE_SHOWN = 5;

  private final HostReport host;

  HostRules(HostReport host) {
    this.host = host;
  }

  /** What keeps every device from being used. */
  List<Finding> blockers() {
    List<Finding> blockers = new ArrayList<>();
    for (LibraryReport library : host.libraries()) {
      if (Boolean.FALSE.equals(library.found())) {
        blockers.add(
            Finding.error(
                "library-missing",
                library.name() + " is not installed.",
                "not in any folder of the dynamic loader",
                Advice.INSTALL_LIBRARIES));
      }
    }
    List<String> nodes = host.deviceNodes();
    if (nodes != null && !nodes.contains("rdma_cm") && !host.devices().isEmpty()) {
      blockers.add(
          Finding.error(
              "rdma-cm-node-missing",
              "/dev/infiniband/rdma_cm is missing, so no connection can be made.",
              Advice.deviceNodes(host),
              "modprobe rdma_ucm. In a container: start it with"
                  + " --device=/dev/infiniband/rdma_cm."));
    }
    if (memlockBlocks()) {
      blockers.add(
          Finding.error(
              "memlock-too-low",
              "The locked-memory limit is "
                  + Sizes.format(memlockBytes())
                  + ": less than the pool's smallest registration, "
                  + Sizes.format(SLAB_BYTES)
                  + ".",
              memlockEvidence(),
              Advice.RAISE_MEMLOCK));
    }
    return blockers;
  }

  /** What is worth knowing about the host. */
  List<Finding> remarks() {
    List<Finding> remarks = new ArrayList<>();
    addNoDevice(remarks);
    addMemlock(remarks);
    addCgroupMemory(remarks);
    addOpenFiles(remarks);
    addFirmware(remarks);
    addHugePages(remarks);
    addUnreadable(remarks);
    addGaps(remarks);
    return remarks;
  }

  private void addNoDevice(List<Finding> remarks) {
    if (!host.devices().isEmpty()) {
      return;
    }
    List<String> modules = host.kernelModules();
    String loaded =
        modules == null ? "unknown" : modules.isEmpty() ? "none" : String.join(", ", modules);
    remarks.add(
        Finding.error(
            "no-device",
            (host.live() ? "This machine has" : "The tree shows") + " no RDMA device.",
            "/sys/class/infiniband is missing or empty; RDMA kernel modules: " + loaded,
            host.live() ? Advice.GET_A_DEVICE : Advice.COPY_THE_TREE + Advice.GET_A_DEVICE));
  }

  private boolean memlockIsLimited() {
    Long bytes = host.limits().memlockBytes();
    return bytes != null
        && bytes != LimitsReport.UNLIMITED
        && !Boolean.TRUE.equals(host.limits().ipcLock());
  }

  private boolean memlockBlocks() {
    return memlockIsLimited()
        && memlockBytes() < SLAB_BYTES
        && Boolean.FALSE.equals(host.limits().ipcLock());
  }

  private long memlockBytes() {
    Long bytes = host.limits().memlockBytes();
    return bytes == null ? LimitsReport.UNLIMITED : bytes;
  }

  private String memlockEvidence() {
    return "/proc/self/limits: Max locked memory "
        + memlockBytes()
        + " bytes, CAP_IPC_LOCK "
        + (host.limits().ipcLock() == null ? "unknown" : "not held")
        + (host.live()
            ? " (of this process; a service has its own)"
            : " (of the process that copied the tree; a service has its own)");
  }

  private void addMemlock(List<Finding> remarks) {
    long bytes = memlockBytes();
    if (!memlockIsLimited() || memlockBlocks() || bytes >= COMFORTABLE_MEMLOCK_BYTES) {
      return;
    }
    remarks.add(
        Finding.warning(
            "memlock-low",
            "The locked-memory limit is "
                + Sizes.format(bytes)
                + ": registering more than that fails with \"Cannot allocate memory\".",
            memlockEvidence(),
            Advice.RAISE_MEMLOCK));
  }

  private void addCgroupMemory(List<Finding> remarks) {
    Long max = host.cgroup().memoryMaxBytes();
    if (max == null || max == LimitsReport.UNLIMITED) {
      return;
    }
    Long used = host.cgroup().memoryUsedBytes();
    remarks.add(
        Finding.info(
            "cgroup-memory",
            "The control group limits memory to "
                + Sizes.format(max)
                + "; registered memory counts in full and cannot be swapped out.",
            "cgroup version "
                + host.cgroup().version()
                + ", in use: "
                + (used == null ? "unknown" : Sizes.format(used)),
            "Keep heap, pool and the rest below it; beyond it the kernel ends the process."));
  }

  private void addOpenFiles(List<Finding> remarks) {
    Long files = host.limits().openFiles();
    if (files != null && files < FEW_OPEN_FILES) {
      remarks.add(
          Finding.info(
              "open-files-low",
              "The process may open " + files + " files; each connection takes a few.",
              "/proc/self/limits: Max open files",
              "systemd service: LimitNOFILE=65536. Docker, Podman: --ulimit nofile=65536."));
    }
  }

  private void addFirmware(List<Finding> remarks) {
    Map<String, Set<String>> versions = new TreeMap<>();
    for (DeviceReport device : host.devices()) {
      if (device.model() != null && device.firmware() != null) {
        versions.computeIfAbsent(device.model(), m -> new TreeSet<>()).add(device.firmware());
      }
    }
    versions.forEach(
        (model, firmware) -> {
          if (firmware.size() > 1) {
            remarks.add(
                Finding.info(
                    "firmware-differs",
                    "Cards of one model run different firmware, and so may behave differently.",
                    model + ": " + String.join(", ", firmware),
                    "Bring them to one version."));
          }
        });
  }

  private void addHugePages(List<Finding> remarks) {
    List<Pool> pools = host.hugePages().pools();
    if (pools == null) {
      return;
    }
    boolean anyFree = pools.stream().anyMatch(pool -> pool.free() != null && pool.free() > 0);
    if (!anyFree) {
      remarks.add(
          Finding.info(
              "no-huge-pages",
              "No explicit huge page is free; the pool falls back to ordinary pages, which cost the"
                  + " NIC more address translations.",
              "/sys/kernel/mm/hugepages/*/free_hugepages; transparent huge pages: "
                  + (host.hugePages().transparent() == null
                      ? "unknown"
                      : host.hugePages().transparent()),
              "sysctl vm.nr_hugepages=N (2 MiB each); make it last in /etc/sysctl.d/."));
    }
  }

  private void addUnreadable(List<Finding> remarks) {
    List<Unreadable> unreadable = host.unreadable();
    if (unreadable.isEmpty()) {
      return;
    }
    List<String> shown =
        unreadable.stream()
            .limit(UNREADABLE_SHOWN)
            .map(u -> u.path() + " (" + u.problem() + ")")
            .toList();
    int rest = unreadable.size() - shown.size();
    remarks.add(
        Finding.warning(
            "unreadable",
            unreadable.size()
                + " file(s) are there but could not be read; their values are unknown.",
            String.join(", ", shown) + (rest > 0 ? " and " + rest + " more" : ""),
            "Check permissions and the kernel log, and read one of them by hand (cat)."));
  }

  private void addGaps(List<Finding> remarks) {
    List<String> gaps = new ArrayList<>();
    if (host.deviceNodes() == null) {
      gaps.add("/dev/infiniband");
    }
    if (host.limits().memlockBytes() == null) {
      gaps.add("/proc/self/limits");
    }
    if (host.libraries().stream().anyMatch(library -> library.found() == null)) {
      gaps.add("library folders (/usr/lib*)");
    }
    if (host.kernelModules() == null) {
      gaps.add("/proc/modules");
    }
    if (host.hugePages().pools() == null) {
      gaps.add("/sys/kernel/mm/hugepages");
    }
    if (!gaps.isEmpty()) {
      remarks.add(
          Finding.info(
              "not-in-tree",
              "Not there to be read, so unknown and not judged: " + String.join(", ", gaps) + ".",
              host.live() ? "missing on this machine" : "missing from the tree",
              host.live() ? "" : "Copy them as well for a complete answer."));
    }
  }
}
