package io.rdma4j.pool;

import io.rdma4j.os.Mapping;
import java.util.List;

/** Checks what settings must be to each other; each value is within its own range already. */
final class PoolChecks {
  /** Blocks are numbered by 31-bit integers. */
  private static final long MOST_BLOCKS = 1L << 29;

  private final PoolValues values;

  PoolChecks(PoolValues values) {
    this.values = values;
  }

  /**
   * Checks everything.
   *
   * @throws IllegalArgumentException naming the setting at fault and those it does not go with
   */
  void run() {
    checkPages(PoolSetting.SLAB_BYTES);
    checkPages(PoolSetting.LARGE_SEGMENT_BYTES);
    checkBlockSizes();
    checkBudget();
    checkReserve();
  }

  /** Lengths of huge-page mappings are whole huge pages (mmap(2), munmap there). */
  private void checkPages(PoolSetting<Long> setting) {
    boolean explicit = values.get(PoolSetting.HUGE_PAGES) == HugePages.EXPLICIT;
    long page = explicit ? Mapping.HUGE_PAGE_BYTES : Mapping.pageSizeBytes();
    check(
        values.get(setting) % page == 0,
        setting,
        "multiples of %s, the page%s"
            .formatted(
                bytes(page), explicit ? " with " + values.named(PoolSetting.HUGE_PAGES) : ""));
  }

  private void checkBlockSizes() {
    List<Long> sizes = values.get(PoolSetting.BLOCK_SIZES);
    long smallest = values.get(PoolSetting.BLOCK_SIZE);
    long slab = values.get(PoolSetting.SLAB_BYTES);
    if (values.isGiven(PoolSetting.BLOCK_SIZE)) {
      check(
          sizes.equals(PoolSetting.doubled(smallest)),
          PoolSetting.BLOCK_SIZE,
          "the first of four by doubling, where all classes are given: "
              + values.named(PoolSetting.BLOCK_SIZES)
              + "; give one of the two");
    }
    PoolSetting<?> atFault =
        values.isGiven(PoolSetting.BLOCK_SIZES) ? PoolSetting.BLOCK_SIZES : PoolSetting.BLOCK_SIZE;
    check(
        sizes.getLast() <= slab,
        atFault,
        "a largest class, here %s, of at most one slab, %s"
            .formatted(bytes(sizes.getLast()), values.named(PoolSetting.SLAB_BYTES)));
    check(
        sizes.contains(values.get(PoolSetting.RECEIVE_BLOCK_SIZE)),
        PoolSetting.RECEIVE_BLOCK_SIZE,
        "one of the classes, " + values.named(PoolSetting.BLOCK_SIZES));
  }

  private void checkBudget() {
    long budget = values.get(PoolSetting.MAX_BYTES);
    long slab = values.get(PoolSetting.SLAB_BYTES);
    long smallest = values.get(PoolSetting.BLOCK_SIZE);
    check(
        budget >= slab,
        PoolSetting.MAX_BYTES,
        "at least one slab, " + values.named(PoolSetting.SLAB_BYTES));
    check(
        budget / smallest < MOST_BLOCKS,
        PoolSetting.MAX_BYTES,
        "less than %d blocks of the smallest class, %s"
            .formatted(MOST_BLOCKS, values.named(PoolSetting.BLOCK_SIZES)));
    checkWithinBudget(PoolSetting.INITIAL_BYTES);
    checkWithinBudget(PoolSetting.MIN_BYTES);
  }

  private void checkWithinBudget(PoolSetting<Long> setting) {
    check(values.get(setting) <= wholeSlabs(), setting, "0 to " + budgetInWords());
  }

  private void checkReserve() {
    long slab = values.get(PoolSetting.SLAB_BYTES);
    long blocksPerSlab = slab / values.get(PoolSetting.RECEIVE_BLOCK_SIZE);
    long blocks = values.get(PoolSetting.RECEIVE_RESERVE_BLOCKS);
    check(
        Math.ceilDiv(blocks, blocksPerSlab) <= wholeSlabs() / slab,
        PoolSetting.RECEIVE_RESERVE_BLOCKS,
        "0 to %d, the blocks of %s in %s"
            .formatted(
                wholeSlabs() / slab * blocksPerSlab,
                values.named(PoolSetting.RECEIVE_BLOCK_SIZE),
                budgetInWords()));
  }

  /** Returns the bytes that slabs can fill. */
  private long wholeSlabs() {
    long slab = values.get(PoolSetting.SLAB_BYTES);
    return values.get(PoolSetting.MAX_BYTES) / slab * slab;
  }

  private String budgetInWords() {
    return "%s, the whole slabs of %s in %s"
        .formatted(
            bytes(wholeSlabs()),
            values.printed(PoolSetting.SLAB_BYTES),
            values.named(PoolSetting.MAX_BYTES));
  }

  private void check(boolean valid, PoolSetting<?> setting, String range) {
    if (!valid) {
      throw values.refusal(setting, range);
    }
  }

  private static String bytes(long bytes) {
    return ConfigText.BYTES.print(bytes);
  }
}
