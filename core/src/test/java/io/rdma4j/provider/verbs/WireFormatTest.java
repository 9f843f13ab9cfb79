package io.rdma4j.provider.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** Bits on the wire and in work request ids are where their drawings say. */
final class WireFormatTest {
  @Test
  void theHeaderIsSixteenBytesLittleEndian() {
    byte[] bytes = new byte[20];
    MemorySegment memory = MemorySegment.ofArray(bytes);
    MessageHeader.write(
        memory, 2, 0x01020304, 0x5A1_F0E0, MessageHeader.DATA, 0xC7, 0x1122334455667788L);
    assertArrayEquals(
        HexFormat.ofDelimiter(" ")
            .parseHex("00 00 04 03 02 01 e0 f0 01 c7 88 77 66 55 44 33 22 11 00 00"),
        bytes);
    long first = MessageHeader.first(memory, 2);
    assertEquals(0x01020304, MessageHeader.lengthBytes(first));
    assertEquals((short) 0xF0E0, MessageHeader.credits(first));
    assertEquals(MessageHeader.DATA, MessageHeader.kind(first));
    assertEquals(0xC7, MessageHeader.type(first));
    assertEquals(0x1122334455667788L, MessageHeader.correlationId(memory, 2));
  }

  @Test
  void creditsDoNotSpillIntoTheKind() {
    MemorySegment memory = MemorySegment.ofArray(new byte[MessageHeader.BYTES]);
    MessageHeader.write(memory, 0, 0, -1, MessageHeader.GOODBYE, 255, -1);
    long first = MessageHeader.first(memory, 0);
    assertEquals(MessageHeader.GOODBYE, MessageHeader.kind(first));
    assertEquals(255, MessageHeader.type(first));
    assertEquals(-1, MessageHeader.credits(first));
  }

  @Test
  void aWorkRequestIdTellsItsQueueAndNumber() {
    for (long sequence : new long[] {0, 1, Integer.MAX_VALUE, 1L << 40, (1L << 62) - 1}) {
      assertFalse(WorkRequestId.isReceive(WorkRequestId.ofSend(sequence)));
      assertEquals(sequence, WorkRequestId.sequence(WorkRequestId.ofSend(sequence)));
    }
    for (int slot : new int[] {0, 1, 1 << 14, Integer.MAX_VALUE}) {
      assertTrue(WorkRequestId.isReceive(WorkRequestId.ofReceive(slot)));
      assertEquals(slot, WorkRequestId.slot(WorkRequestId.ofReceive(slot)));
    }
  }
}
