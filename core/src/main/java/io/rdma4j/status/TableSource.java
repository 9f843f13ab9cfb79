package io.rdma4j.status;

import org.jspecify.annotations.Nullable;

/**
 * A part of the library that has rows to show whose keys are too many for labels: connections,
 * slabs, ports. It registers with {@link StatusRegistry#register(TableSource)}.
 *
 * <p>{@link #collect} runs on whatever thread reads the table, never on two at once, and never once
 * the registration is closed. As {@link MetricSource#collect} it must not block, nor wait for a
 * lock whose holder may close the registration.
 */
public interface TableSource {
  /** Returns what the table shows. Called once, by the registration. */
  TableDescriptor table();

  /** Adds the rows of now, the most telling first, since a reader may take the first ones only. */
  void collect(Rows rows);

  /** Takes the rows of one table during its {@link #collect}. */
  interface Rows {
    /**
     * Adds a row.
     *
     * @param cells one for each column, in their order; null for what is not known
     * @throws IllegalArgumentException when the cells do not fit the columns
     */
    void add(@Nullable Object... cells);
  }
}
