package io.rdma4j.monitor;

import io.prometheus.metrics.config.EscapingScheme;
import io.prometheus.metrics.expositionformats.ExpositionFormatWriter;
import io.prometheus.metrics.expositionformats.OpenMetricsTextFormatWriter;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.ClassicHistogramBuckets;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.CounterSnapshot.CounterDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot.GaugeDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot;
import io.prometheus.metrics.model.snapshots.HistogramSnapshot.HistogramDataPointSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricMetadata;
import io.prometheus.metrics.model.snapshots.MetricSnapshot;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import io.prometheus.metrics.model.snapshots.Unit;
import io.rdma4j.status.Distribution;
import io.rdma4j.status.Metric;
import io.rdma4j.status.MetricDescriptor;
import io.rdma4j.status.StatusSnapshot;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A snapshot in the text formats of Prometheus and OpenMetrics.
 *
 * <p>Names, labels and values are those of the snapshot, aliases are left out; a histogram has
 * classic buckets, each power of two from 64 ns to 17 s, in seconds. There are as many series as
 * the snapshot has samples, whose labels are few by the conventions of {@link io.rdma4j.status}.
 */
final class PrometheusText {
  private static final double NS_PER_SECOND = 1e9;

  private PrometheusText() {}

  /**
   * Writes a snapshot.
   *
   * @param accept header of the request; OpenMetrics when that names it
   */
  static Response of(StatusSnapshot snapshot, String accept) throws IOException {
    ExpositionFormatWriter writer =
        accept.contains("application/openmetrics-text")
            ? OpenMetricsTextFormatWriter.create()
            : PrometheusTextFormatWriter.create();
    ByteArrayOutputStream text = new ByteArrayOutputStream();
    writer.write(text, converted(snapshot), EscapingScheme.UNDERSCORE_ESCAPING);
    return new Response(200, writer.getContentType(), text.toByteArray());
  }

  private static MetricSnapshots converted(StatusSnapshot snapshot) {
    Map<MetricDescriptor, List<Metric>> families = new LinkedHashMap<>();
    for (Metric metric : snapshot.metrics()) {
      families.computeIfAbsent(metric.descriptor(), family -> new ArrayList<>()).add(metric);
    }
    List<MetricSnapshot> converted = new ArrayList<>();
    families.forEach((family, samples) -> converted.add(converted(family, samples)));
    return new MetricSnapshots(converted);
  }

  private static MetricSnapshot converted(MetricDescriptor family, List<Metric> samples) {
    MetricMetadata metadata =
        new MetricMetadata(family.family(), family.meaning(), unit(family.unit()));
    return switch (family.kind()) {
      case COUNTER ->
          new CounterSnapshot(
              metadata,
              samples.stream()
                  .map(m -> new CounterDataPointSnapshot(number(m), labels(m), null, 0))
                  .toList());
      case GAUGE ->
          new GaugeSnapshot(
              metadata,
              samples.stream()
                  .map(m -> new GaugeDataPointSnapshot(number(m), labels(m), null))
                  .toList());
      case HISTOGRAM ->
          new HistogramSnapshot(metadata, samples.stream().map(PrometheusText::histogram).toList());
    };
  }

  private static HistogramDataPointSnapshot histogram(Metric metric) {
    if (!(metric.value() instanceof Distribution distribution)) {
      throw new IllegalStateException("no distribution in " + metric);
    }
    List<Distribution.Bucket> buckets = distribution.buckets();
    ClassicHistogramBuckets.Builder classic = ClassicHistogramBuckets.builder();
    long below = 0;
    for (Distribution.Bucket bucket : buckets) {
      classic.bucket(bucket.boundNs() / NS_PER_SECOND, bucket.count() - below);
      below = bucket.count();
    }
    classic.bucket(Double.POSITIVE_INFINITY, distribution.count() - below);
    return HistogramDataPointSnapshot.builder()
        .classicHistogramBuckets(classic.build())
        .sum(distribution.sumNs() / NS_PER_SECOND)
        .labels(labels(metric))
        .build();
  }

  private static double number(Metric metric) {
    return switch (metric.value()) {
      case Metric.Whole whole -> whole.amount();
      case Metric.Real real -> real.amount();
      case Distribution distribution ->
          throw new IllegalStateException("no number in " + metric + ": " + distribution);
    };
  }

  private static Labels labels(Metric metric) {
    return Labels.of(metric.descriptor().labels(), metric.labelValues());
  }

  private static @Nullable Unit unit(MetricDescriptor.Unit unit) {
    return switch (unit) {
      case NONE -> null;
      case SECONDS -> Unit.SECONDS;
      case BYTES -> Unit.BYTES;
      case RATIO -> Unit.RATIO;
    };
  }
}
