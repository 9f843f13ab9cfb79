package io.rdma4j.os;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The memory nodes of a machine: which of them have memory, which CPUs are theirs, how far apart
 * they are.
 *
 * <p>Ids may have gaps, and a node may have CPUs without memory or memory without CPUs. What the
 * kernel does not say is {@link #UNKNOWN}, which is no id and so no index; every method takes it
 * and answers that nothing is known. An unknown node is a normal state (virtual machines, software
 * devices): it means that memory is bound to no node.
 *
 * <p>Immutable; safe for use by several threads. It shows the machine as it was when it was read: a
 * CPU or a node brought online later is unknown to it.
 */
public final class NumaTopology {
  /** Stands for a node, a CPU or a distance that is not known; the kernel's own value. */
  public static final int UNKNOWN = -1;

  /** The kernel has no more: its NODES_SHIFT is 10 at most. */
  static final int MAX_NODES = 1 << 10;

  /** Far above any kernel's NR_CPUS, 8192 on x86-64. */
  private static final int MAX_CPUS = 1 << 16;

  private static final String NODES = "/sys/devices/system/node";
  private static final String ALLOWED_CPUS = "Cpus_allowed_list:";
  private static final Pattern NODE_NAME = Pattern.compile("node(\\d{1,4})");
  private static final Pattern TOTAL_MEMORY = Pattern.compile("MemTotal:\\s+(\\d+) kB");

  /**
   * One node.
   *
   * @param distances to the nodes of the topology, in the order of their ids; {@link #UNKNOWN}, or
   *     missing at the end, where the kernel did not say
   */
  record Node(int id, boolean hasMemory, BitSet cpus, int[] distances) {}

  private static final NumaTopology NOTHING_KNOWN = new NumaTopology(List.of());

  private final List<Node> nodes;
  private final int[] indexById;
  private final int[] nodeByCpu;

  /** Keeps {@code nodes}, in ascending order of their ids. */
  NumaTopology(List<Node> nodes) {
    this.nodes = List.copyOf(nodes);
    this.indexById = new int[nodes.isEmpty() ? 0 : nodes.getLast().id() + 1];
    this.nodeByCpu = new int[nodes.stream().mapToInt(n -> n.cpus().length()).max().orElse(0)];
    Arrays.fill(indexById, UNKNOWN);
    Arrays.fill(nodeByCpu, UNKNOWN);
    for (int i = 0; i < nodes.size(); i++) {
      Node node = nodes.get(i);
      indexById[node.id()] = i;
      node.cpus().stream().forEach(cpu -> nodeByCpu[cpu] = node.id());
    }
  }

  /** Returns the topology of a machine that says nothing of its nodes: it has none. */
  public static NumaTopology unknown() {
    return NOTHING_KNOWN;
  }

  /**
   * Reads the nodes that are online under {@code root}; {@link #unknown} when sysfs has none, as on
   * a kernel without NUMA or in a container that hides them.
   */
  public static NumaTopology read(SystemRoot root) {
    BitSet online = readIds(root, NODES + "/online", MAX_NODES).orElseGet(() -> listed(root));
    if (online.isEmpty()) {
      return NOTHING_KNOWN;
    }
    Optional<BitSet> withMemory = readIds(root, NODES + "/has_memory", MAX_NODES);
    List<Node> nodes = new ArrayList<>();
    for (int id : online.stream().toArray()) {
      String dir = NODES + "/node" + id;
      nodes.add(
          new Node(
              id,
              withMemory.map(ids -> ids.get(id)).orElseGet(() -> totalMemoryIsNotZero(root, dir)),
              readIds(root, dir + "/cpulist", MAX_CPUS).orElseGet(BitSet::new),
              parseDistances(root.read(dir + "/distance").orElse(""))));
    }
    return new NumaTopology(nodes);
  }

  /**
   * Returns the node of an InfiniBand device, {@link #UNKNOWN} when the kernel does not know it
   * (-1), or the device has no bus device to be on a node with.
   *
   * @param device for example {@code mlx5_0}
   */
  public static int nodeOfDevice(SystemRoot root, String device) {
    OptionalLong node = root.readLong("/sys/class/infiniband/" + device + "/device/numa_node");
    return node.isPresent() && node.getAsLong() >= 0 && node.getAsLong() < MAX_NODES
        ? (int) node.getAsLong()
        : UNKNOWN;
  }

  /**
   * Returns the node that all CPUs belong to on which this process may run ({@code
   * Cpus_allowed_list} in proc(5)); {@link #UNKNOWN} when they are of several nodes, as without
   * taskset(1) or numactl(8) on a machine that has several, and when that is not known.
   */
  public int nodeOfProcess(SystemRoot root) {
    Optional<BitSet> allowed =
        root.readLines("/proc/self/status").stream()
            .filter(line -> line.startsWith(ALLOWED_CPUS))
            .findFirst()
            .flatMap(line -> IdList.parse(line.substring(ALLOWED_CPUS.length()), MAX_CPUS));
    int[] homes = allowed.orElseGet(BitSet::new).stream().map(this::nodeOfCpu).distinct().toArray();
    return homes.length == 1 ? homes[0] : UNKNOWN;
  }

  private static Optional<BitSet> readIds(SystemRoot root, String path, int limit) {
    return root.read(path).flatMap(text -> IdList.parse(text, limit));
  }

  /** The kernel keeps a directory for each node that is online. */
  private static BitSet listed(SystemRoot root) {
    BitSet ids = new BitSet();
    for (String name : root.list(NODES)) {
      Matcher node = NODE_NAME.matcher(name);
      if (node.matches() && Integer.parseInt(node.group(1)) < MAX_NODES) {
        ids.set(Integer.parseInt(node.group(1)));
      }
    }
    return ids;
  }

  /** A node counts as one with memory unless something says otherwise. */
  private static boolean totalMemoryIsNotZero(SystemRoot root, String dir) {
    Matcher total = TOTAL_MEMORY.matcher(root.read(dir + "/meminfo").orElse(""));
    return !total.find() || !total.group(1).matches("0+");
  }

  /** A row has a column for each node that is online, in the order of ids, and none for gaps. */
  private static int[] parseDistances(String row) {
    return row.isEmpty()
        ? new int[0]
        : Arrays.stream(row.split("\\s+")).mapToInt(NumaTopology::parseDistance).toArray();
  }

  private static int parseDistance(String text) {
    try {
      return Math.max(Integer.parseInt(text), UNKNOWN);
    } catch (NumberFormatException notANumber) {
      return UNKNOWN;
    }
  }

  /** Returns the ids of all nodes, ascending; empty when nothing is known. */
  public int[] nodes() {
    return nodes.stream().mapToInt(Node::id).toArray();
  }

  /** Returns true when the node exists and has memory. */
  public boolean hasMemory(int node) {
    int index = indexOf(node);
    return index != UNKNOWN && nodes.get(index).hasMemory();
  }

  /**
   * Returns the relative cost of memory of {@code to} for CPUs of {@code from}, as the firmware
   * tells it (ACPI SLIT): 10 within a node, 20 where an access takes twice as long; {@link
   * #UNKNOWN} when it is not known.
   */
  public int distance(int from, int to) {
    int row = indexOf(from);
    int column = indexOf(to);
    if (row == UNKNOWN || column == UNKNOWN) {
      return UNKNOWN;
    }
    int[] distances = nodes.get(row).distances();
    return column < distances.length ? distances[column] : UNKNOWN;
  }

  /** Returns the node of a CPU; {@link #UNKNOWN} for a CPU of no node. An array access. */
  public int nodeOfCpu(int cpu) {
    return cpu >= 0 && cpu < nodeByCpu.length ? nodeByCpu[cpu] : UNKNOWN;
  }

  /**
   * Returns the nodes to take memory from for a device or a thread on {@code node}: those with
   * memory, nearest first, the lower id first of two equally near; nodes at an unknown distance
   * come last. Empty when {@code node} is not known, which means: bind to no node.
   */
  public int[] nearestWithMemory(int node) {
    if (indexOf(node) == UNKNOWN) {
      return new int[0];
    }
    return nodes.stream()
        .filter(Node::hasMemory)
        .map(Node::id)
        .sorted(Comparator.comparingInt(other -> rank(node, other)))
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /** Sorting is stable, so equal ranks stay in the order of ids. */
  private int rank(int from, int to) {
    if (from == to) {
      return UNKNOWN;
    }
    int distance = distance(from, to);
    return distance == UNKNOWN ? Integer.MAX_VALUE : distance;
  }

  private int indexOf(int node) {
    return node >= 0 && node < indexById.length ? indexById[node] : UNKNOWN;
  }

  @Override
  public String toString() {
    if (nodes.isEmpty()) {
      return "no known nodes";
    }
    StringBuilder text = new StringBuilder();
    for (Node node : nodes) {
      text.append(text.isEmpty() ? "" : ", ")
          .append("node ")
          .append(node.id())
          .append(" with ")
          .append(node.cpus().cardinality())
          .append(node.hasMemory() ? " CPUs" : " CPUs and no memory");
    }
    return text.toString();
  }
}
