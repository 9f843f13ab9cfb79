package io.rdma4j.status;

import static io.rdma4j.status.MetricDescriptor.counter;
import static io.rdma4j.status.MetricDescriptor.gauge;
import static io.rdma4j.status.MetricDescriptor.histogram;
import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The forms in which a snapshot is written down: lines of {@code /vars}, and JSON. */
@Timeout(60)
class TextFormsTest {
  private static final MetricDescriptor FALLBACKS =
      counter("rdma4j_pool_fallbacks_total", "Allocations outside the pool.")
          .withAlias("rdma_mem_pool_fallback_count");
  private static final MetricDescriptor HIT_RATE =
      gauge("rdma4j_pool_hit_ratio", "Share of hits.").withAlias("rdma_mem_pool_hit_rate");
  private static final MetricDescriptor BLOCKS =
      gauge("rdma4j_pool_blocks", "Blocks.", "size_class", "state");
  private static final MetricDescriptor REGISTER =
      histogram("rdma4j_mr_register_seconds", "Time to register.")
          .withAlias("rdma_reg_mr_duration");

  private static final StatusSnapshot SNAPSHOT = snapshot(null);

  private static StatusSnapshot snapshot(@Nullable String lastFailure) {
    LatencyHistogram durations = new LatencyHistogram();
    durations.record(50);
    durations.record(1001);
    durations.record(2_000_000_000);
    return new StatusSnapshot(
        List.of(
            new Metric(FALLBACKS, List.of(), new Metric.Whole(147)),
            new Metric(HIT_RATE, List.of(), new Metric.Real(0.923)),
            new Metric(BLOCKS, List.of("8192", "used"), new Metric.Whole(12)),
            new Metric(BLOCKS, List.of("16384", "used"), new Metric.Whole(3)),
            new Metric(REGISTER, List.of(), durations.snapshot())),
        lastFailure);
  }

  @Test
  void varsAreSortedLinesWithAliasesAmongThem() {
    // Middles of buckets: 1001 ns lies in (992, 1008], 2 s in (59 * 2^25, 60 * 2^25] ns.
    String durations =
        ("count=3 sum=2.000001051 mean=0.666667017 min=5.0E-8 p50=1.0E-6"
                + " p90=H p99=H p999=H p9999=H max=2.0")
            .replace("H", Double.toString(59.5 * (1 << 25) / 1e9));
    assertEquals(
        """
        rdma4j_mr_register_seconds : DURATIONS
        rdma4j_pool_blocks{size_class="8192",state="used"} : 12
        rdma4j_pool_blocks{size_class="16384",state="used"} : 3
        rdma4j_pool_fallbacks_total : 147
        rdma4j_pool_hit_ratio : 0.923
        rdma_mem_pool_fallback_count : 147
        rdma_mem_pool_hit_rate : 0.923
        rdma_reg_mr_duration : DURATIONS
        """
            .replace("DURATIONS", durations),
        VarsText.of(SNAPSHOT));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "rdma_mem_pool_hit_rate      | rdma_mem_pool_hit_rate",
        "rdma_mem*                   | rdma_mem_pool_fallback_count rdma_mem_pool_hit_rate",
        "*_ratio, rdma_reg_mr_*      | rdma4j_pool_hit_ratio rdma_reg_mr_duration",
        "rdma$j_pool_hit_ratio       | rdma4j_pool_hit_ratio",
        "rdma4j*hit*                 | rdma4j_pool_hit_ratio",
        "rdma4j_pool_hit_rati        | ``",
        "rdma4j_pool_hit_ratio$      | ``",
        "$                           | ``",
        "*nothing*                   | ``",
        "rdma4j.pool.hit.ratio       | ``",
        "*RATIO                      | ``",
      })
  void varsAreChosenByPatterns(String patterns, String names) {
    List<String> chosen =
        VarsText.of(SNAPSHOT, patterns).lines().map(l -> l.replaceAll("[{ ].*", "")).toList();
    assertEquals(names, String.join(" ", chosen));
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "a*b, ab, true",
        "a*b, aXXb, true",
        "a*b, abX, false",
        "*a*b*, xxaxxbxx, true",
        "*ab, aab, true",
        "*aab, aaab, true",
        "a**, a, true",
        "$*, a, true",
        "$$, a, false",
        "**, abc, true",
        "*a$c, abcadc, true",
        "*a$c, abcad, false"
      })
  void aStarIsAnyTextAndADollarOneCharacter(String pattern, String name, boolean matches) {
    assertEquals(matches, new NameFilter(pattern).accepts(name));
  }

  @Test
  void noPatternChoosesAll() {
    assertEquals(VarsText.of(SNAPSHOT), VarsText.of(SNAPSHOT, ""));
    assertEquals(VarsText.of(SNAPSHOT), VarsText.of(SNAPSHOT, " , "));
    assertEquals(VarsText.of(SNAPSHOT), VarsText.of(SNAPSHOT, "*"));
  }

  /** A matcher that tries every split would need longer than the age of the universe. */
  @Test
  void aPatternFromTheNetworkIsCheap() {
    assertFalse(new NameFilter("*a".repeat(500) + "b").accepts("a".repeat(5000)));
  }

  @Test
  void textsStayOnOneLine() {
    MetricDescriptor peers = gauge("rdma4j_peers", "Peers.", "peer");
    StatusSnapshot snapshot =
        new StatusSnapshot(
            List.of(new Metric(peers, List.of("a\"b\\c\nd\u2028e"), new Metric.Real(Double.NaN))),
            "source 'x': two\r\nlines");
    assertEquals(
        """
        rdma4j_peers{peer="a\\"b\\\\c\\nd\\u2028e"} : NaN
        rdma4j_status_last_failure : "source 'x': two\\r\\nlines"
        """,
        VarsText.of(snapshot));
  }

  @Test
  void jsonSaysTheSame() throws Exception {
    Map<String, Object> root = JSON.std.mapFrom(JsonText.of(snapshot("source 'x': gone")));
    assertEquals("source 'x': gone", root.get("lastFailure"));
    List<Map<String, Object>> metrics = list(root.get("metrics"));
    assertEquals(
        List.of(
            "rdma4j_mr_register_seconds",
            "rdma4j_pool_blocks",
            "rdma4j_pool_fallbacks_total",
            "rdma4j_pool_hit_ratio"),
        metrics.stream().map(m -> m.get("name")).toList());
    assertEquals(
        Map.of(
            "name", "rdma4j_pool_fallbacks_total",
            "kind", "counter",
            "unit", "none",
            "meaning", "Allocations outside the pool.",
            "alias", "rdma_mem_pool_fallback_count",
            "samples", List.of(Map.of("labels", Map.of(), "value", 147))),
        metrics.get(2));
    assertEquals(
        List.of(
            Map.of("labels", Map.of("size_class", "8192", "state", "used"), "value", 12),
            Map.of("labels", Map.of("size_class", "16384", "state", "used"), "value", 3)),
        metrics.get(1).get("samples"));
    assertNull(metrics.get(1).get("alias"));
    Map<?, ?> durations =
        (Map<?, ?>) requireNonNull(list(metrics.get(0).get("samples")).getFirst().get("value"));
    assertEquals(
        List.of("count", "sum", "mean", "min", "p50", "p90", "p99", "p999", "p9999", "max"),
        List.copyOf(durations.keySet()));
    assertEquals(3, durations.get("count"));
    assertEquals(5.0E-8, durations.get("min"));
    assertEquals(1.0E-6, durations.get("p50"));
    assertEquals(2.0, durations.get("max"));
  }

  @Test
  void jsonNumbersAreFinite() throws Exception {
    MetricDescriptor gauge = gauge("rdma4j_x", "X.", "n");
    List<Object> values = new ArrayList<>();
    for (Metric.Value value :
        List.of(
            new Metric.Real(Double.NaN),
            new Metric.Real(Double.NEGATIVE_INFINITY),
            new Metric.Real(Double.MIN_VALUE),
            new Metric.Real(-Double.MAX_VALUE),
            new Metric.Whole(Long.MAX_VALUE),
            new Metric.Whole(Long.MIN_VALUE))) {
      values.add(roundTrip(new Metric(gauge, List.of("1"), value)).get("value"));
    }
    List<@Nullable Object> expected = new ArrayList<>();
    expected.add(null);
    expected.add(null);
    expected.addAll(List.of(Double.MIN_VALUE, -Double.MAX_VALUE, Long.MAX_VALUE, Long.MIN_VALUE));
    assertEquals(expected, values);
  }

  @Test
  void anEmptyDistributionIsItsCountAlone() throws Exception {
    Metric empty = new Metric(REGISTER, List.of(), new LatencyHistogram().snapshot());
    assertEquals(Map.of("count", 0), roundTrip(empty).get("value"));
    assertEquals(
        "rdma_reg_mr_duration : count=0\n",
        VarsText.of(new StatusSnapshot(List.of(empty), null), "rdma_*"));
  }

  @Test
  void anEmptySnapshotIsStillJson() throws Exception {
    Map<String, Object> root = JSON.std.mapFrom(JsonText.of(SNAPSHOT, "nothing"));
    assertEquals(List.of(), root.get("metrics"));
    assertTrue(root.containsKey("lastFailure"));
    assertNull(root.get("lastFailure"));
  }

  @Test
  void jsonIsChosenByNameOrAlias() throws Exception {
    Map<String, Object> root = JSON.std.mapFrom(JsonText.of(SNAPSHOT, "rdma_reg*,*_blocks"));
    assertEquals(
        List.of("rdma4j_mr_register_seconds", "rdma4j_pool_blocks"),
        list(root.get("metrics")).stream().map(m -> m.get("name")).toList());
  }

  @Test
  void anyTextSurvivesJsonAndUtf8() throws Exception {
    long seed = Long.getLong("seed", System.nanoTime());
    Random random = new Random(seed);
    MetricDescriptor gauge = gauge("rdma4j_x", "X.", "text");
    StringBuilder each = new StringBuilder();
    for (char c = 0; c < 0x300; c++) {
      each.append(c);
    }
    List<String> texts = new ArrayList<>(List.of("", each.toString(), "\u2028\u2029\ufeff", "😀"));
    for (int i = 0; i < 200; i++) {
      StringBuilder text = new StringBuilder();
      for (int length = random.nextInt(20); length > 0; length--) {
        text.append((char) random.nextInt(0x10000)); // surrogates without their half included
      }
      texts.add(text.toString());
    }
    for (String text : texts) {
      Metric metric = new Metric(gauge, List.of(text), new Metric.Whole(1));
      assertEquals(Map.of("text", text), roundTrip(metric).get("labels"), () -> "seed " + seed);
      String vars = VarsText.of(new StatusSnapshot(List.of(metric), null));
      assertEquals(1, vars.lines().count(), () -> "seed " + seed);
    }
  }

  /** The one sample of the one metric, through UTF-8 and a parser. */
  private static Map<String, Object> roundTrip(Metric metric) throws Exception {
    String json = JsonText.of(new StatusSnapshot(List.of(metric), null));
    byte[] utf8 = json.getBytes(StandardCharsets.UTF_8);
    Map<String, Object> root = JSON.std.mapFrom(new String(utf8, StandardCharsets.UTF_8));
    return list(list(root.get("metrics")).getFirst().get("samples")).getFirst();
  }

  @SuppressWarnings("unchecked") // the parser's lists are of objects here
  private static List<Map<String, Object>> list(@Nullable Object value) {
    return (List<Map<String, Object>>) requireNonNull(value);
  }
}
