package io.rdma4j.pool.internal;

import io.rdma4j.os.CurrentCpu;
import io.rdma4j.os.NumaTopology;
import io.rdma4j.os.SystemRoot;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntSupplier;

/**
 * Local first: which NUMA nodes the pool keeps lists for, in which order a thread looks at them,
 * and where a new slab goes.
 *
 * <p>One list for everything, and no binding, where the machine has one node or its nodes are
 * unknown. Immutable.
 */
final class NumaPolicy {
  /** Stands for a node that is not known. */
  static final int UNKNOWN = NumaTopology.UNKNOWN;

  private static final int[][] ONE_LIST = {{0}};

  /** Nodes with memory; a list's number is its node's place in here. */
  private final int[] nodes;

  /** By node number, the lists nearest first; the last entry is for threads anywhere. */
  private final int[][] nearest;

  private final int deviceNode;
  private final IntSupplier callerNode;

  private NumaPolicy(int[] nodes, int[][] nearest, int deviceNode, IntSupplier callerNode) {
    this.nodes = nodes;
    this.nearest = nearest;
    this.deviceNode = deviceNode;
    this.callerNode = callerNode;
  }

  /** Returns the policy of a machine whose nodes are unknown. */
  static NumaPolicy unknown() {
    return new NumaPolicy(new int[0], ONE_LIST, UNKNOWN, () -> UNKNOWN);
  }

  /** Returns the policy for the machine below {@code root}, for memory of the named devices. */
  static NumaPolicy of(SystemRoot root, List<String> devices) {
    NumaTopology topology = NumaTopology.read(root);
    int deviceNode = UNKNOWN;
    for (int i = 0; i < devices.size() && deviceNode == UNKNOWN; i++) {
      deviceNode = NumaTopology.nodeOfDevice(root, devices.get(i));
    }
    return of(topology, deviceNode, () -> CurrentCpu.node(topology));
  }

  static NumaPolicy of(NumaTopology topology, int deviceNode, IntSupplier callerNode) {
    int[] nodes = Arrays.stream(topology.nodes()).filter(topology::hasMemory).toArray();
    if (nodes.length < 2) {
      return unknown();
    }
    int highest = Arrays.stream(topology.nodes()).max().orElse(0);
    int[][] nearest = new int[highest + 2][];
    for (int node = 0; node <= highest; node++) {
      nearest[node] = listsOf(nodes, topology.nearestWithMemory(node));
    }
    nearest[highest + 1] = listsOf(nodes, topology.nearestWithMemory(deviceNode));
    return new NumaPolicy(nodes, nearest, deviceNode, callerNode);
  }

  /** Returns the places of some nodes among all, then the others. */
  private static int[] listsOf(int[] nodes, int[] order) {
    int[] lists = new int[nodes.length];
    int count = 0;
    for (int node : order) {
      int list = Arrays.binarySearch(nodes, node);
      if (list >= 0) {
        lists[count++] = list;
      }
    }
    for (int list = 0; list < nodes.length && count < nodes.length; list++) {
      int missing = list;
      if (Arrays.stream(lists, 0, count).noneMatch(known -> known == missing)) {
        lists[count++] = list;
      }
    }
    return lists;
  }

  /** Returns the number of lists. */
  int lists() {
    return Math.max(1, nodes.length);
  }

  /** Returns the node whose memory a list holds, {@link #UNKNOWN} for the only list. */
  int nodeOfList(int list) {
    return nodes.length == 0 ? UNKNOWN : nodes[list];
  }

  /** Returns the node that the calling thread runs on now. */
  int callerNode() {
    return callerNode.getAsInt();
  }

  /** Returns the lists in the order in which a thread on that node looks at them. */
  int[] nearest(int node) {
    return node >= 0 && node < nearest.length - 1 ? nearest[node] : nearest[nearest.length - 1];
  }

  /** Returns the node for new memory of a thread on that node, {@link #UNKNOWN} for no binding. */
  int placeFor(int node) {
    if (nodes.length == 0) {
      return UNKNOWN;
    }
    return nodes[nearest(node == UNKNOWN ? deviceNode : node)[0]];
  }

  /** Returns the list for blocks of a slab placed on that node. */
  int listOf(int node) {
    return Math.max(0, Arrays.binarySearch(nodes, node));
  }
}
