package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Memory of a chosen node, and where it really is. */
class PlacementTest {
  private static final long LENGTH = 3 * Mapping.HUGE_PAGE_BYTES;

  @ParameterizedTest
  @EnumSource
  void pagesComeFromThePreferredNode(HugePages hugePages) {
    NumaTopology topology = NumaTopology.read(SystemRoot.host());
    assumeTrue(topology.nodes().length > 0, "this kernel shows no nodes");
    for (int node : topology.nearestWithMemory(topology.nodes()[0])) {
      try (Mapping mapping = Mapping.anonymous(LENGTH, hugePages)) {
        Placement placement = mapping.preferNode(node);
        assumeTrue(placement.isBound(), placement.reason());
        assertEquals("", placement.reason());
        mapping.populate(0, LENGTH);
        PageNodes pages = mapping.pageNodes();
        assumeTrue(pages.reason().isEmpty(), pages.reason());
        assertEquals(new PageNodes(pages.bytesByNode(), 0, 0, ""), pages);
        assertEquals(Map.of(node, LENGTH), pages.bytesByNode());
      }
    }
  }

  @Test
  void pagesThatAreNotPresentAreOnNoNode() {
    long page = Mapping.pageSizeBytes();
    // More than one call's worth.
    try (Mapping mapping = Mapping.anonymous(5000 * page)) {
      assumeTrue(mapping.pageNodes().reason().isEmpty(), mapping.pageNodes().reason());
      assertEquals(5000 * page, mapping.pageNodes().absentBytes());
      mapping.populate(4999 * page, page);
      PageNodes pages = mapping.pageNodes();
      assertEquals(4999 * page, pages.absentBytes());
      assertEquals(page, pages.bytesByNode().values().stream().mapToLong(Long::longValue).sum());
    }
  }

  @Test
  void aNodeThatIsNotThereIsRefusedAndTheMemoryIsUsable() {
    int absent = NumaTopology.MAX_NODES - 1;
    assertFalse(NumaTopology.read(SystemRoot.host()).hasMemory(absent));
    try (Mapping mapping = Mapping.anonymous(LENGTH)) {
      Placement placement = mapping.preferNode(absent);
      assertFalse(placement.isBound());
      assertTrue(placement.reason().startsWith("mbind(node 1023): E"), placement.reason());
      mapping.populate(0, LENGTH);
      assertEquals(LENGTH, mapping.backing().residentBytes());
    }
  }

  @Test
  void anUnknownNodeChangesNothing() {
    try (Mapping mapping = Mapping.anonymous(LENGTH)) {
      Placement placement = mapping.preferNode(NumaTopology.UNKNOWN);
      assertFalse(placement.isBound());
      assertEquals("the node is not known", placement.reason());
      assertThrows(IllegalArgumentException.class, () -> mapping.preferNode(-2));
      assertThrows(
          IllegalArgumentException.class, () -> mapping.preferNode(NumaTopology.MAX_NODES));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1, EPERM, CAP_SYS_NICE",
    "13, EACCES, CAP_SYS_NICE",
    "38, ENOSYS, no NUMA support",
    "22, EINVAL, cpuset",
    "12, ENOMEM, memory"
  })
  void normalRefusalsAreExplained(int errno, String name, String cause) {
    Placement placement = new Placement(3, errno);
    assertTrue(Placement.isNormal(errno));
    assertFalse(placement.isBound());
    assertTrue(placement.reason().contains("node 3"), placement.reason());
    assertTrue(placement.reason().contains(name), placement.reason());
    assertTrue(placement.reason().contains(cause), placement.reason());
    assertFalse(Placement.isNormal(Errno.EFAULT));
  }
}
