package io.rdma4j.status;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What all sources of a registry said, one after the other, in one go.
 *
 * <p>Immutable.
 *
 * @param metrics all samples, sorted by name; those of one name in the order of their sources
 * @param lastFailure the latest failure of a source since the registry was made, whose source is
 *     missing in the snapshot of then; null when there was none
 */
public record StatusSnapshot(List<Metric> metrics, @Nullable String lastFailure) {

  /** Copies and sorts the samples. */
  public StatusSnapshot {
    metrics = metrics.stream().sorted(Comparator.comparing(Metric::name)).toList();
  }

  /** Returns the sample with these label values; empty when its source said nothing of it. */
  public Optional<Metric> find(MetricDescriptor descriptor, String... labelValues) {
    List<String> wanted = List.of(labelValues);
    return metrics.stream()
        .filter(m -> m.descriptor().equals(descriptor) && m.labelValues().equals(wanted))
        .findFirst();
  }
}
