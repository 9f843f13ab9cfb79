package io.rdma4j.status;

import static io.rdma4j.status.MetricDescriptor.counter;
import static io.rdma4j.status.MetricDescriptor.gauge;
import static io.rdma4j.status.MetricDescriptor.histogram;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.status.MetricDescriptor.Kind;
import io.rdma4j.status.MetricDescriptor.Unit;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MetricDescriptorTest {
  @ParameterizedTest
  @CsvSource({
    "rdma4j_pool_bytes, GAUGE, BYTES, rdma4j_pool_bytes",
    "rdma4j_pool_fragmentation_ratio, GAUGE, RATIO, rdma4j_pool_fragmentation_ratio",
    "rdma4j_pool_blocks, GAUGE, NONE, rdma4j_pool_blocks",
    "rdma4j_cqe_total, COUNTER, NONE, rdma4j_cqe",
    "rdma4j_credit_stall_seconds_total, COUNTER, SECONDS, rdma4j_credit_stall_seconds",
    "rdma4j_sent_bytes_total, COUNTER, BYTES, rdma4j_sent_bytes",
    "rdma4j_mr_register_seconds, HISTOGRAM, SECONDS, rdma4j_mr_register_seconds"
  })
  void unitAndFamilyAreInTheName(String name, Kind kind, Unit unit, String family) {
    MetricDescriptor descriptor = new MetricDescriptor(name, kind, "Meaning.", List.of(), null);
    assertEquals(unit, descriptor.unit());
    assertEquals(family, descriptor.family());
  }

  @ParameterizedTest
  @CsvSource({
    "pool_bytes, GAUGE, first of them rdma4j",
    "rdma4j_, GAUGE, lower-case words",
    "rdma4j_Pool, GAUGE, lower-case words",
    "rdma4j_pool-bytes, GAUGE, lower-case words",
    "rdma4j__pool, GAUGE, lower-case words",
    "rdma4j_pool_, GAUGE, lower-case words",
    "rdma4j_requests, COUNTER, a counter ends in _total",
    "rdma4j_requests_total, GAUGE, a counter ends in _total",
    "rdma4j_requests_total_total, COUNTER, exporters derive",
    "rdma4j_pool_count, GAUGE, exporters derive names ending in _count",
    "rdma4j_pool_sum_total, COUNTER, exporters derive names ending in _sum",
    "rdma4j_alloc_ns, GAUGE, units are seconds",
    "rdma4j_alloc_millis_total, COUNTER, units are seconds",
    "rdma4j_hit_percent, GAUGE, units are seconds",
    "rdma4j_message_bytes, HISTOGRAM, a histogram is of seconds",
    "rdma4j_hit_ratio_total, COUNTER, a ratio is a gauge"
  })
  void aNameAgainstTheConventionsIsRefused(String name, Kind kind, String convention) {
    refused(name, convention, () -> new MetricDescriptor(name, kind, "Meaning.", List.of(), null));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "No full stop", "Two\nlines."})
  void aMeaningIsOneSentence(String meaning) {
    refused("rdma4j_x", "one sentence", () -> gauge("rdma4j_x", meaning));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "Port", "le", "quantile", "__name", "a-b"})
  void aLabelAgainstTheConventionsIsRefused(String label) {
    refused("rdma4j_x", "a label is", () -> gauge("rdma4j_x", "Meaning.", label));
  }

  @Test
  void labelsAreFewAndDistinct() {
    refused("rdma4j_x", "stands twice", () -> gauge("rdma4j_x", "Meaning.", "port", "port"));
    refused("rdma4j_x", "at most 5", () -> gauge("rdma4j_x", "M.", "a", "b", "c", "d", "e", "f"));
    assertEquals(5, gauge("rdma4j_x", "M.", "a", "b", "c", "d", "e").labels().size());
  }

  @Test
  void anAliasIsAnOlderNameOfTheSame() {
    MetricDescriptor plain = histogram("rdma4j_mr_register_seconds", "Time.", "device");
    MetricDescriptor aliased = plain.withAlias("rdma_reg_mr_duration");
    assertEquals("rdma_reg_mr_duration", aliased.alias());
    assertEquals(plain.name(), aliased.name());
    assertEquals(plain.labels(), aliased.labels());
    refused(plain.name(), "an alias is", () -> plain.withAlias("rdma4j_other"));
    refused(plain.name(), "an alias is", () -> plain.withAlias("rdma reg"));
  }

  @Test
  void aSampleFitsItsDescriptor() {
    MetricDescriptor counter = counter("rdma4j_x_total", "X.", "port");
    MetricDescriptor gauge = gauge("rdma4j_x", "X.");
    MetricDescriptor histogram = histogram("rdma4j_x_seconds", "X.");
    Distribution empty = new LatencyHistogram().snapshot();
    Metric.Value one = new Metric.Whole(1);

    refused("rdma4j_x_total", "[port]", () -> new Metric(counter, List.of(), one));
    refused("rdma4j_x_total", "[1, 2]", () -> new Metric(counter, List.of("1", "2"), one));
    refused("rdma4j_x", "GAUGE", () -> new Metric(gauge, List.of(), empty));
    refused("rdma4j_x_seconds", "HISTOGRAM", () -> new Metric(histogram, List.of(), one));
    for (Metric.Value bad :
        List.of(
            new Metric.Whole(-1),
            new Metric.Real(-0.5),
            new Metric.Real(Double.NaN),
            new Metric.Real(Double.POSITIVE_INFINITY))) {
      refused("rdma4j_x_total", "not negative", () -> new Metric(counter, List.of("1"), bad));
      assertEquals(bad, new Metric(gauge, List.of(), bad).value());
    }
  }

  private static void refused(String name, String convention, Runnable attempt) {
    String message =
        String.valueOf(
            assertThrows(IllegalArgumentException.class, attempt::run, () -> name).getMessage());
    assertTrue(message.contains("'" + name + "'") && message.contains(convention), message);
  }
}
