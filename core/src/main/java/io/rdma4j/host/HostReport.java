package io.rdma4j.host;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The facts about RDMA on one machine at one moment.
 *
 * @param live true for the running machine and process, false for a copied tree
 * @param devices RDMA devices in the order of their names
 * @param deviceNodes names in {@code /dev/infiniband}; empty when the folder is missing from a
 *     {@code /dev} that is there, null when there is no {@code /dev} to look at
 * @param kernelModules names of the RDMA modules found loaded or built in, null when unknown
 * @param netdevs network devices that the process can see, null when unknown
 * @param numaNodes NUMA nodes that are online, null when unknown
 * @param limits limits of the process
 * @param cgroup limits of the control groups of the process
 * @param libraries user-space libraries, those missing included
 * @param hugePages explicit and transparent huge pages
 * @param unreadable files that are there but could not be read or understood
 */
public record HostReport(
    boolean live,
    List<DeviceReport> devices,
    @Nullable List<String> deviceNodes,
    @Nullable List<String> kernelModules,
    @Nullable List<String> netdevs,
    @Nullable List<NumaNodeReport> numaNodes,
    LimitsReport limits,
    CgroupReport cgroup,
    List<LibraryReport> libraries,
    HugePagesReport hugePages,
    List<Unreadable> unreadable) {

  /** Copies the lists. */
  public HostReport {
    devices = List.copyOf(devices);
    deviceNodes = deviceNodes == null ? null : List.copyOf(deviceNodes);
    kernelModules = kernelModules == null ? null : List.copyOf(kernelModules);
    netdevs = netdevs == null ? null : List.copyOf(netdevs);
    numaNodes = numaNodes == null ? null : List.copyOf(numaNodes);
    libraries = List.copyOf(libraries);
    unreadable = List.copyOf(unreadable);
  }

  /**
   * Reads the facts below {@code root}. With {@code /} that is the running machine, and the limits
   * are those of this process; with any other folder nothing outside the folder is read.
   *
   * @param root folder that holds {@code sys}, {@code proc}, {@code dev}, {@code etc}, {@code usr};
   *     what it lacks is reported as unknown
   * @throws IOException when {@code root} is not a directory; single files that cannot be read are
   *     listed in {@link #unreadable} instead
   */
  public static HostReport read(Path root) throws IOException {
    Probe probe = new Probe(HostTree.at(root));
    List<String> nodes = readDeviceNodes(probe);
    List<DeviceReport> devices = new DeviceReader(probe, nodes).readAll();
    List<String> modules = KernelModules.read(probe);
    List<String> netdevs = probe.names("/sys/class/net");
    List<NumaNodeReport> numaNodes = NumaReader.read(probe);
    LimitsReport limits = LimitsReader.read(probe);
    CgroupReport cgroup = CgroupReader.read(probe);
    List<LibraryReport> libraries = new LibraryReader(probe).read();
    HugePagesReport hugePages = HugePagesReader.read(probe);
    return new HostReport(
        probe.isLive(),
        devices,
        nodes,
        modules,
        netdevs,
        numaNodes,
        limits,
        cgroup,
        libraries,
        hugePages,
        probe.unreadable());
  }

  /**
   * Reads the devices alone, for who looks at their ports again and again.
   *
   * @param root as for {@link #read}
   * @throws IOException when {@code root} is not a directory
   */
  public static List<DeviceReport> readDevices(Path root) throws IOException {
    Probe probe = new Probe(HostTree.at(root));
    return new DeviceReader(probe, readDeviceNodes(probe)).readAll();
  }

  /** Returns these facts with other devices, as when a later reading of the devices is at hand. */
  public HostReport withDevices(List<DeviceReport> others) {
    return new HostReport(
        live,
        others,
        deviceNodes,
        kernelModules,
        netdevs,
        numaNodes,
        limits,
        cgroup,
        libraries,
        hugePages,
        unreadable);
  }

  private static @Nullable List<String> readDeviceNodes(Probe probe) {
    List<String> nodes = probe.names("/dev/infiniband");
    if (nodes != null) {
      return nodes;
    }
    return probe.names("/dev") == null ? null : List.of();
  }

  /**
   * A file that is there but gave no usable answer.
   *
   * @param path absolute path on the machine described
   * @param problem what reading it answered
   */
  public record Unreadable(String path, String problem) {}
}
