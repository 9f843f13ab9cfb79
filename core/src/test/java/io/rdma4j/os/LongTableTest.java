package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LongTableTest {
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 1000, 1024, 1025, 1 << 20, (1 << 30) - 1, 1 << 30})
  void thereIsAPowerOfTwoOfEntries(int least) {
    LongTable table = new LongTable(least);
    assertTrue(table.mask() + 1L >= least, "mask " + table.mask());
    assertTrue((table.mask() + 1L) / 2 < least, "mask " + table.mask());
    assertEquals(1, Long.bitCount(table.mask() + 1L));
    int last = least - 1;
    assertEquals(0, table.get(last));
    table.setOpaque(last, -5);
    assertEquals(-5, table.get(last));
    assertEquals(last == 0 ? -5 : 0, table.get(0));
  }

  @Test
  void entriesAreApartInEveryMode() {
    long seed = System.nanoTime();
    Random random = new Random(seed);
    LongTable table = new LongTable(1 << 16);
    Map<Integer, Long> model = new HashMap<>();
    for (int i = 0; i < 100_000; i++) {
      int index = random.nextInt(1 << 16);
      long before = model.getOrDefault(index, 0L);
      long value = random.nextLong();
      String where = "seed " + seed + ", step " + i;
      assertEquals(before, table.get(index), where);
      assertEquals(before, table.getOpaque(index), where);
      assertEquals(before, table.getAcquire(index), where);
      assertEquals(before, LongTable.get(table.base(), index), where);
      switch (random.nextInt(4)) {
        case 0 -> table.setOpaque(index, value);
        case 1 -> LongTable.set(table.base(), index, value);
        case 2 -> assertTrue(table.compareAndSet(index, before, value), where);
        default -> {
          assertFalse(table.compareAndSet(index, before + 1, value), where);
          value = before;
        }
      }
      model.put(index, value);
    }
  }

  @Test
  void anIndexBeyondTheEndIsOneWithin() {
    LongTable table = new LongTable(8);
    for (int index : new int[] {8, -8, Integer.MIN_VALUE, 0x7fff_fff8}) {
      table.setOpaque(index, index);
      assertEquals(index, table.get(0));
    }
    table.setOpaque(-1, 9);
    assertEquals(9, table.get(7));
  }
}
