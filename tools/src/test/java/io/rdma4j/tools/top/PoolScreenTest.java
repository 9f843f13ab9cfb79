package io.rdma4j.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.pool.HeatTable.Row;
import io.rdma4j.pool.HeatTable.State;
import io.rdma4j.tools.top.PoolScreen.Style;
import io.rdma4j.tools.top.PoolSnapshot.SizeClass;
import io.rdma4j.tools.top.PoolSnapshot.Times;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PoolScreenTest {
  private static final long MIB = 1 << 20;
  private static final Style WIDE = new Style(200, 60, false, false);

  private static SizeClass sizeClass(long hits, long growths, long trims, long revivals) {
    return new SizeClass(
        8192, false, 8 * MIB, 4 * MIB, 2 * MIB, MIB, hits, 50, 0, hits, growths, trims, revivals,
        15, 0);
  }

  private static Row row(int number, State state) {
    return new Row("0x7f00" + number, 8192, -1, 0, 1.5, 1200, 3, 128, state, false);
  }

  private static PoolSnapshot snapshot(double seconds, SizeClass sizeClass, Row... heat) {
    return new PoolSnapshot(
        seconds,
        64 * MIB,
        16 * MIB,
        0.46,
        0,
        3,
        new Times(1000, 30, 400, 2_500, 50_000_000),
        new Times(0, 0, 0, 0, 0),
        List.of(sizeClass),
        List.of(heat));
  }

  private static List<String> frame(Style style, List<String> events, Row... heat) {
    return PoolScreen.lines(
        "a pool",
        snapshot(1, sizeClass(950, 1, 0, 0)),
        snapshot(3, sizeClass(2950, 1, 0, 0), heat),
        events,
        style);
  }

  @Test
  void aFrameSaysEverything() {
    String frame =
        String.join("\n", frame(WIDE, List.of("something happened"), row(1, State.PENDING)));
    for (String part :
        List.of(
            "rdma4j top   a pool   3.0 s",
            "16 MiB of 64 MiB taken   registered 15 MiB   used 8 MiB   fragmentation 0.46",
            "allocations  1,000/s   from: thread cache 100.0 %, shared list 0.0 %",
            "p50 30 ns   p99 400 ns   p99.9 2.5 us   max 50.0 ms   of 1,000 since the start",
            "registration none timed",
            "8 KiB        15     8 MiB     4 MiB     2 MiB     1 MiB         1,000",
            "something happened",
            "0x7f001          | 1.5 s ago    |        1,200 | PENDING  | 8 KiB    |       3/128 |  "
                + "  -")) {
      assertTrue(frame.contains(part), () -> part + " is missing in\n" + frame);
    }
  }

  @Test
  void aBarIsAsLongAsTheShareOfTheBudget() {
    String line =
        frame(new Style(73 + 64, 60, false, false), List.of()).stream()
            .filter(l -> l.startsWith("8 KiB "))
            .findFirst()
            .orElseThrow();
    assertTrue(line.endsWith("   ########++++--."), line);
  }

  @Test
  void linesFitTheScreen() {
    Row[] many = IntStream.range(0, 100).mapToObj(i -> row(i, State.ACTIVE)).toArray(Row[]::new);
    for (boolean colour : new boolean[] {false, true}) {
      List<String> lines = frame(new Style(40, 12, colour, true), List.of("e".repeat(300)), many);
      assertEquals(12, lines.size());
      for (String line : lines) {
        assertTrue(line.replaceAll("\033\\[[0-9;]*m", "").length() <= 40, line);
        assertTrue(!line.contains("\033") || line.endsWith("\033[0m"), "colours end: " + line);
      }
    }
  }

  @Test
  void withoutColourThereAreNoEscapes() {
    assertFalse(String.join("", frame(WIDE, List.of("x"), row(1, State.LEAVING))).contains("\033"));
  }

  @Test
  void cuttingCountsWhatIsSeen() {
    assertEquals("\033[1mabc\033[0m", PoolScreen.cut("\033[1mabcdef\033[0m", 3));
    assertEquals("abc", PoolScreen.cut("abc", 3));
  }

  @Test
  void eventsFollowFromTheCounters() {
    PoolSnapshot before =
        snapshot(1, sizeClass(1, 1, 2, 3), row(1, State.PENDING), row(2, State.ACTIVE));
    PoolSnapshot after =
        snapshot(2, sizeClass(1, 3, 3, 3), row(2, State.PENDING), row(3, State.PENDING));
    assertEquals(
        List.of(
            "    2.0 s  8 KiB class grew by 2 slabs: registered ahead or on demand",
            "    2.0 s  8 KiB class suspended 2 slabs: idle, registered still",
            "    2.0 s  8 KiB class trimmed 1 slab: deregistered and unmapped"),
        PoolEvents.between(before, after));
    assertEquals(List.of(), PoolEvents.between(after, after));
  }

  @Test
  void aPlainLineIsForLogs() {
    assertEquals(
        "   3.0 s  registered 15 MiB  used 8 MiB  cached 4 MiB  free 2 MiB  pending 1 MiB"
            + "  alloc 1,000/s  hits 100.0 %  p50 30 ns  p99 400 ns  grown 1  revived 0  trimmed 0",
        PoolScreen.plain(
            snapshot(1, sizeClass(950, 1, 0, 0)), snapshot(3, sizeClass(2950, 1, 0, 0))));
  }

  @Test
  void figuresHaveUnits() {
    assertEquals("1.5 KiB", Units.bytes(1536));
    assertEquals("0 B", Units.bytes(0));
    assertEquals("999 ns", Units.duration(999));
    assertEquals("1.0 us", Units.duration(1000));
    assertEquals("2.0 s", Units.duration(2_000_000_000L));
    assertEquals("-", Units.percent(Double.NaN));
  }
}
