package io.rdma4j.provider.shm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import org.junit.jupiter.api.Test;

final class RecordLayoutTest {
  @Test
  void packsAndUnpacksACommitWord() {
    for (int tag : new int[] {RecordLayout.MESSAGE, RecordLayout.PADDING}) {
      for (int type : new int[] {0, 1, 127, 128, 255}) {
        for (long length : new long[] {0, 1, 48, Integer.MAX_VALUE, 1L << 31, 0xFFFF_FFFFL}) {
          long word = RecordLayout.commitWord(tag, type, length);
          assertNotEquals(0, word);
          assertEquals(tag, RecordLayout.tag(word));
          assertEquals(type, RecordLayout.type(word));
          assertEquals(length, RecordLayout.lengthBytes(word));
        }
      }
    }
  }

  @Test
  void roundsRecordsUpToLines() {
    assertEquals(64, RecordLayout.recordBytes(0));
    assertEquals(64, RecordLayout.recordBytes(48));
    assertEquals(128, RecordLayout.recordBytes(49));
    assertEquals(128, RecordLayout.recordBytes(112));
    assertEquals(192, RecordLayout.recordBytes(113));
    assertEquals(1L << 31, RecordLayout.recordBytes((1L << 31) - 16));
  }
}
