package io.rdma4j.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.host.CounterDelta.Change;
import io.rdma4j.host.CounterDelta.How;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The arithmetic between two readings: wraps, ends, resets, gaps, units. */
final class CounterDeltaTest {
  private static PortCounters reading(Map<String, Long> values) {
    return new PortCounters("mlx5_0", 1, null, null, new TreeMap<>(values), List.of());
  }

  private static CounterDelta between(Map<String, Long> earlier, Map<String, Long> later) {
    return CounterDelta.between(reading(earlier), reading(later));
  }

  @ParameterizedTest
  @CsvSource({
    // A queue counter of 32 bits that starts again at zero.
    "hw_counters/out_of_sequence, 4294967290, 14, 20, WRAPPED",
    "hw_counters/out_of_sequence, 2147483648, 2147483647, 4294967295, WRAPPED",
    "hw_counters/out_of_sequence, 2147483648, 0, 2147483648, WRAPPED",
    // From the lower half it was cleared: the later value is what was counted since.
    "hw_counters/out_of_sequence, 2147483647, 5, 5, CLEARED",
    "hw_counters/np_cnp_sent, 7, 0, 0, CLEARED",
    // Beyond 32 bits it is no counter of 32 bits.
    "hw_counters/ip4InOctets, 12345678901, 7, 7, CLEARED",
    "hw_counters/ip4InOctets, 12345678901, 12345678903, 2, COUNTED",
    // Port counters stop at their end.
    "counters/link_downed, 25, 26, 1, COUNTED",
    "counters/link_downed, 254, 255, 1, PEGGED",
    "counters/link_downed, 255, 255, 0, PEGGED",
    "counters/link_downed, 255, 3, 3, CLEARED",
    "counters/local_link_integrity_errors, 15, 15, 0, PEGGED",
    "counters/symbol_error, 65534, 65535, 1, PEGGED",
    "counters/symbol_error, 65535, 70000, 4465, COUNTED",
    "counters/port_xmit_data, 4294967295, 4294967295, 0, PEGGED",
    "counters/port_xmit_data, 4294967295, 12, 12, CLEARED",
    "counters/port_xmit_data, 4294967290, 12, 18, WRAPPED",
    "counters/port_xmit_data, 4294967290, 4294967297, 7, COUNTED",
    "counters/port_rcv_errors, 4294967290, 12, 12, CLEARED",
    "ethtool/rx_discards_phy, 4294967290, 12, 12, CLEARED",
    "ethtool/rx_discards_phy, 500, 830, 330, COUNTED"
  })
  void increase(String counter, long before, long now, long increase, How how) {
    assertEquals(new Change(increase, how), change(counter, before, now));
  }

  private static Change change(String counter, long before, long now) {
    return Objects.requireNonNull(
        between(Map.of(counter, before), Map.of(counter, now)).changes().get(counter));
  }

  @Test
  void unsignedValuesOf64Bits() {
    long big = Long.parseUnsignedLong("18446744073709551600");
    assertEquals(new Change(10, How.COUNTED), change("counters/port_rcv_data", big, big + 10));
    assertEquals(new Change(15, How.PEGGED), change("counters/port_rcv_data", big, -1L));
    assertEquals(new Change(3, How.CLEARED), change("counters/port_rcv_data", big, 3));
  }

  @Test
  void aResetOfThePortExplainsAllFalls() {
    CounterDelta delta =
        between(
            Map.of("hw_counters/out_of_sequence", 4_000_000_000L, "counters/link_downed", 9L),
            Map.of("hw_counters/out_of_sequence", 4L, "counters/link_downed", 0L));
    assertTrue(delta.reset());
    assertEquals(new Change(4, How.CLEARED), delta.changes().get("hw_counters/out_of_sequence"));
    assertEquals(OptionalLong.of(0), delta.increase("counters/link_downed"));
  }

  @Test
  void whatOneReadingLacksIsUnknownAndNotZero() {
    CounterDelta delta =
        between(
            Map.of("hw_counters/np_cnp_sent", 1L, "hw_counters/rp_cnp_handled", 4L),
            Map.of("hw_counters/rp_cnp_handled", 4L, "hw_counters/rp_cnp_ignored", 900L));
    assertEquals(Set.of("hw_counters/rp_cnp_handled"), delta.changes().keySet());
    assertEquals(OptionalLong.empty(), delta.increase(CounterSignal.CNP_IGNORED));
    assertFalse(delta.isSilent(CounterSignal.CNP_SENT));
    assertTrue(delta.isSilent(CounterSignal.CNP_HANDLED));
    assertFalse(delta.has(CounterSignal.CNP_IGNORED));
  }

  @Test
  void gaugesAreNoCounters() {
    CounterDelta delta =
        between(
            Map.of("hw_counters/active_qps", 90L, "hw_counters/watermark_qps", 90L),
            Map.of("hw_counters/active_qps", 7L, "hw_counters/watermark_qps", 9L));
    assertEquals(Map.of(), delta.changes());
    assertFalse(delta.reset());
  }

  @Test
  void dataCountersCountWordsOfFourBytes() {
    CounterDelta delta =
        between(
            Map.of("counters/port_xmit_data", 1000L, "counters/port_rcv_data", 5L),
            Map.of("counters/port_xmit_data", 501_000L, "counters/port_rcv_data", 100_005L));
    assertEquals(OptionalLong.of(2_000_000), delta.increase(CounterSignal.SENT_BYTES));
    assertEquals(OptionalLong.of(400_000), delta.increase(CounterSignal.RECEIVED_BYTES));
  }

  @Test
  void oneEventInTwoFoldersCountsOnce() {
    Map<String, Long> zero =
        Map.of(
            "hw_counters/link_downed", 0L,
            "net/carrier_down_count", 3L,
            "hw_counters/packet_seq_err", 0L,
            "hw_counters/implied_nak_seq_err", 0L);
    Map<String, Long> later =
        Map.of(
            "hw_counters/link_downed", 2L,
            "net/carrier_down_count", 5L,
            "hw_counters/packet_seq_err", 3L,
            "hw_counters/implied_nak_seq_err", 4L);
    CounterDelta delta = between(zero, later);
    assertEquals(OptionalLong.of(2), delta.increase(CounterSignal.LINK_DOWN));
    assertEquals(OptionalLong.of(7), delta.increase(CounterSignal.SEQUENCE_NAK));
    assertEquals(
        List.of("hw_counters/link_downed +2", "net/carrier_down_count +2"),
        CounterSignal.LINK_DOWN.evidence(delta));
  }

  @Test
  void aCounterBelongsToOneSignal() {
    Set<String> seen = new HashSet<>();
    for (CounterSignal signal : CounterSignal.values()) {
      signal.counters().forEach(counter -> assertTrue(seen.add(counter), counter));
    }
  }

  @Test
  void readingsOfTwoPortsAreNotComparable() {
    PortCounters other = new PortCounters("mlx5_0", 2, null, null, new TreeMap<>(), List.of());
    assertThrows(
        IllegalArgumentException.class, () -> CounterDelta.between(reading(Map.of()), other));
  }

  /** Any true count of at most half the range comes out, wherever a counter of 32 bits stands. */
  @Test
  void countersOf32BitsCountOn() {
    long seed = Long.getLong("seed", System.nanoTime());
    Random random = new Random(seed);
    for (int i = 0; i < 10_000; i++) {
      long before = random.nextLong(1L << 32);
      long counted = random.nextLong(1L << 31);
      long now = (before + counted) & 0xffff_ffffL;
      assertEquals(
          counted, change("hw_counters/out_of_buffer", before, now).increase(), "seed " + seed);
    }
  }
}
