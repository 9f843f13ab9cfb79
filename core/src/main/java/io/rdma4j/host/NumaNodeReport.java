package io.rdma4j.host;

import java.util.List;

/**
 * A NUMA node of a machine.
 *
 * @param id number of the node; numbers may have gaps
 * @param hasMemory whether memory can be taken from it; a node may have processors alone
 * @param distances relative cost of memory of each node, in the order of the nodes of the report;
 *     10 within the node. Empty when unknown
 */
public record NumaNodeReport(int id, boolean hasMemory, List<Integer> distances) {
  /** Copies the list. */
  public NumaNodeReport {
    distances = List.copyOf(distances);
  }
}
