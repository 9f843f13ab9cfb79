package io.rdma4j.host;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Huge pages of a machine.
 *
 * @param pools explicit pools, one per page size, smallest first; null when unknown
 * @param transparent mode of transparent huge pages ({@code always}, {@code madvise}, {@code
 *     never}); null when unknown
 */
public record HugePagesReport(@Nullable List<Pool> pools, @Nullable String transparent) {
  /** Copies the list. */
  public HugePagesReport {
    pools = pools == null ? null : List.copyOf(pools);
  }

  /**
   * Explicit huge pages of one size.
   *
   * @param pageBytes size of a page
   * @param total pages set aside, null when unreadable
   * @param free pages not in use, null when unreadable
   */
  public record Pool(long pageBytes, @Nullable Long total, @Nullable Long free) {}
}
