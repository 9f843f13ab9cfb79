package io.rdma4j.pool;

/**
 * Which pages a pool's slabs lie on. Larger pages mean fewer of them to pin at a registration, and
 * fewer entries in the translation tables of processor and device.
 */
public enum HugePages {
  /** Pages of the machine's base size. */
  NONE,
  /**
   * Huge pages where the kernel has them at hand, base pages elsewhere: a wish that is never
   * refused ({@code MADV_HUGEPAGE}, madvise(2)).
   */
  TRANSPARENT,
  /**
   * Pages of 2 MiB from the reserve that the administrator has set aside ({@code MAP_HUGETLB},
   * mmap(2); {@code vm.nr_hugepages}), which nobody else can use meanwhile. Where the reserve is
   * too small, the rest is as with {@link #TRANSPARENT}.
   */
  EXPLICIT
}
