package io.rdma4j.pool.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdma4j.pool.RegisteredRange;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;

final class AddressIndexTest {
  private record Range(long address, long lengthBytes) implements RegisteredRange {
    @Override
    public int lkey(int registrarIndex) {
      return (int) address;
    }

    @Override
    public int rkey(int registrarIndex) {
      return (int) address + 1;
    }
  }

  /** Compares with a tree map, over neighbours without gaps too. */
  @RepeatedTest(5)
  void findsWhatATreeFinds(RepetitionInfo repetition) {
    long seed = repetition.getCurrentRepetition();
    Random random = new Random(seed);
    AddressIndex index = new AddressIndex();
    TreeMap<Long, Range> tree = new TreeMap<>();
    for (int i = 0; i < 2000; i++) {
      int place = 1 + random.nextInt(64);
      Range range = new Range(100L * place, random.nextBoolean() ? 100 : 1 + random.nextInt(99));
      if (random.nextBoolean()) {
        if (tree.putIfAbsent(range.address(), range) == null) {
          index.add(range);
        } else {
          assertThrows(IllegalStateException.class, () -> index.add(range));
        }
      } else {
        Range known = tree.remove(range.address());
        index.remove(known == null ? range : known);
      }
      long address = random.nextInt(7000);
      Map.Entry<Long, Range> floor = tree.floorEntry(address);
      boolean inside = floor != null && address < floor.getKey() + floor.getValue().lengthBytes();
      assertEquals(inside ? floor.getValue() : null, index.find(address), "seed " + seed);
    }
  }

  @Test
  void removesOnlyTheVeryRange() {
    AddressIndex index = new AddressIndex();
    Range range = new Range(4096, 10);
    index.add(range);
    index.remove(new Range(4096, 11));
    assertEquals(range, index.find(4105));
    assertNull(index.find(4106));
    assertNull(index.find(4095));
    assertNull(index.find(Long.MIN_VALUE));
    assertNull(index.find(Long.MAX_VALUE));
    index.remove(range);
    index.remove(range);
    assertNull(index.find(4096));
    List<RegisteredRange> many = new ArrayList<>();
    for (int i = 1; i < 5; i++) {
      many.add(new Range(i, 1));
    }
    many.forEach(index::add);
    index.clear();
    many.forEach(r -> assertNull(index.find(r.address())));
  }

  @Test
  void aRangeKnowsWhatItContains() {
    Range range = new Range(1000, 100);
    assertEquals(true, range.contains(1000, 100));
    assertEquals(true, range.contains(1100, 0));
    assertEquals(false, range.contains(999, 1));
    assertEquals(false, range.contains(1000, 101));
    assertEquals(false, range.contains(1001, Long.MAX_VALUE));
    assertEquals(false, range.contains(1000, -1));
    assertEquals(false, range.contains(1101, 0));
  }
}
