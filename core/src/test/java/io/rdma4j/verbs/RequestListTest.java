package io.rdma4j.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

/** Lists of requests touch their own memory only, and none once it is freed. */
final class RequestListTest {
  @Test
  void aRequestWithEntriesOfATableTakesNoOthers() {
    try (ScatterTable table = new ScatterTable(1, 1);
        ReceiveList receives = new ReceiveList(1, 2)) {
      receives.add(1, table, 0);
      assertThrows(IllegalStateException.class, () -> receives.scatter(4096, 8, 1));
      assertEquals(1, receives.sgeCount(0));
    }
  }

  @Test
  void whatIsFreedTakesNothing() {
    SendList sends = new SendList(2, 1);
    ReceiveList receives = new ReceiveList(2, 1);
    ScatterTable table = new ScatterTable(2, 1);
    sends.add(1, SendList.OP_SEND, 0);
    receives.add(1);
    sends.close();
    receives.close();
    table.close();
    assertThrows(IllegalStateException.class, () -> sends.add(2, SendList.OP_SEND, 0));
    assertThrows(IllegalStateException.class, () -> sends.gather(4096, 8, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> sends.wrId(0));
    assertThrows(IllegalStateException.class, () -> receives.add(2));
    assertThrows(IllegalStateException.class, () -> receives.scatter(4096, 8, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> receives.wrId(0));
    assertThrows(IndexOutOfBoundsException.class, () -> table.set(0, 0, 4096, 8, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> receives.add(2, table, 0));
    Completions completions = new Completions(1);
    completions.close();
    assertThrows(IndexOutOfBoundsException.class, () -> completions.wrId(0));
  }
}
