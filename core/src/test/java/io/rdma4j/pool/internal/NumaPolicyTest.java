package io.rdma4j.pool.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.os.NumaTopology;
import io.rdma4j.os.NumactlText;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class NumaPolicyTest {
  @Test
  void unknownNodesMeanOneListAndNoBinding() {
    NumaPolicy policy = NumaPolicy.of(NumaTopology.unknown(), NumaTopology.UNKNOWN, () -> 3);
    assertEquals(1, policy.lists());
    assertEquals(NumaPolicy.UNKNOWN, policy.placeFor(3));
    assertEquals(NumaPolicy.UNKNOWN, policy.nodeOfList(0));
    assertEquals(0, policy.listOf(NumaPolicy.UNKNOWN));
    assertArrayEquals(new int[] {0}, policy.nearest(3));
    assertArrayEquals(new int[] {0}, policy.nearest(NumaPolicy.UNKNOWN));
  }

  @Test
  void looksAtTheNearestNodesFirst() throws IOException {
    NumaPolicy policy = policy("8-nodes", NumaPolicy.UNKNOWN);
    assertEquals(8, policy.lists());
    for (int node = 0; node < 8; node++) {
      assertEquals(node, policy.nodeOfList(policy.nearest(node)[0]), "local first");
      assertEquals(node, policy.placeFor(node));
      assertEquals(node, policy.nodeOfList(policy.listOf(node)));
      assertEquals(8, policy.nearest(node).length, "and all the others after it");
    }
  }

  /** A card on a node without memory: both others are as near, so the lower one. */
  @Test
  void memoryGoesToTheNearestNodeThatHasSome() throws IOException {
    NumaPolicy policy = policy("4-nodes-2-without-memory", 0);
    assertEquals(2, policy.lists());
    assertEquals(1, policy.placeFor(0));
    assertEquals(1, policy.placeFor(NumaPolicy.UNKNOWN), "as near to the device as possible");
    assertEquals(2, policy.placeFor(2));
    assertEquals(1, policy.nodeOfList(policy.nearest(0)[0]));
  }

  private static NumaPolicy policy(String machine, int deviceNode) throws IOException {
    return NumaPolicy.of(
        NumactlText.resource(machine + ".numactl.txt"), deviceNode, () -> NumaPolicy.UNKNOWN);
  }
}
