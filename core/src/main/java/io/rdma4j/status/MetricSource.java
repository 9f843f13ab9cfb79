package io.rdma4j.status;

import java.util.List;

/**
 * A part of the library that has metrics. It registers with {@link StatusRegistry#register}.
 *
 * <p>{@link #collect} runs on whatever thread takes a snapshot, never on two at once, and never
 * once the registration is closed. It reads and adds: it must not block, nor wait for a lock whose
 * holder may close the registration.
 */
public interface MetricSource {
  /** Returns everything the source will ever sample. Called once, by the registration. */
  List<MetricDescriptor> descriptors();

  /**
   * Adds the samples of now. An exception, a refused sample's included, costs all samples of this
   * source in this snapshot: half of them would not add up.
   */
  void collect(Sink sink);

  /**
   * Takes the samples of one source during its {@link #collect}.
   *
   * <p>Each {@code add} throws {@link IllegalArgumentException} when the descriptor was not stated,
   * when labels or value do not fit it, or when the snapshot has a sample with these label values.
   * {@code labelValues} come in the order of the descriptor's labels.
   */
  interface Sink {
    /** Adds a whole number to a counter's or gauge's samples. */
    void add(MetricDescriptor descriptor, long amount, String... labelValues);

    /** Adds another number to a counter's or gauge's samples. */
    void add(MetricDescriptor descriptor, double amount, String... labelValues);

    /** Adds a distribution to a histogram's samples. */
    void add(MetricDescriptor descriptor, Distribution distribution, String... labelValues);
  }
}
