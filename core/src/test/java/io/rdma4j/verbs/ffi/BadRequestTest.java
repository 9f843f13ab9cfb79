package io.rdma4j.verbs.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;

final class BadRequestTest {
  private static final int ENOMEM = 12;

  @Test
  void countsTheRequestsBeforeTheOneRefused() {
    try (Arena arena = Arena.ofConfined();
        SendList list = new SendList(4, 1)) {
      MemorySegment slots = arena.allocate(ValueLayout.ADDRESS, 2);
      for (int i = 0; i < 4; i++) {
        list.add(i, SendList.OP_SEND, 0);
      }
      slots.setAtIndex(ValueLayout.JAVA_LONG, 1, list.address() + 3 * 128);
      long bad = BadRequest.take(slots, 1, list.address());
      assertEquals(3, list.posted(ENOMEM, bad));
      assertEquals(ENOMEM, list.errno());
      // The slot is clear again, and a failure without a request takes none.
      assertEquals(0, list.posted(ENOMEM, BadRequest.take(slots, 1, list.address())));
    }
  }
}
