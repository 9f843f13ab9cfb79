package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.BitSet;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class IdListTest {
  private static Optional<BitSet> setOf(IntStream ids) {
    BitSet set = new BitSet();
    ids.forEach(set::set);
    return Optional.of(set);
  }

  @Test
  void rangesAndSingleIds() {
    assertEquals(setOf(IntStream.of(0, 1, 2, 3, 8, 10, 11)), IdList.parse("0-3,8,10-11", 64));
    assertEquals(setOf(IntStream.of(5)), IdList.parse("5\n", 64));
    assertEquals(setOf(IntStream.of(1, 2)), IdList.parse(" 1 - 2 ", 64));
    assertEquals(setOf(IntStream.range(0, 64)), IdList.parse("0-63", 64));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "\n", "\t\n"})
  void nothingIsTheEmptySet(String text) {
    assertEquals(setOf(IntStream.empty()), IdList.parse(text, 64));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "N/A",
        "-1",
        "3-1",
        "0-",
        "-3",
        "0,,1",
        "0,",
        ",0",
        "0-64",
        "64",
        "0 1",
        "0--1",
        "1-2-3",
        "0x3",
        "00000000,000fffff,ff",
        "0-2147483647",
        "0-4294967296",
        "0-31:1/2"
      })
  void anythingElseIsNoList(String text) {
    assertEquals(Optional.empty(), IdList.parse(text, 64));
  }
}
