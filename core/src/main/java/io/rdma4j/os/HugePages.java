package io.rdma4j.os;

/** The kind of pages to ask the kernel for. {@link Mapping#backing} tells what was got. */
public enum HugePages {
  /**
   * Ordinary pages, also where the system gives huge ones to everybody (transparent_hugepage set to
   * {@code always}): MADV_NOHUGEPAGE.
   */
  NONE,

  /**
   * Huge pages as far as the kernel finds free ones, at no risk: MADV_HUGEPAGE on memory aligned
   * for them. What it does not find when the memory is populated, the kernel's khugepaged thread
   * may still put together later.
   */
  TRANSPARENT,

  /**
   * Pages of 2 MiB from the pool that the administrator has reserved (vm.nr_hugepages):
   * MAP_HUGETLB. They are reserved when the mapping is made, never swapped and never split. Where
   * there are too few it becomes {@link #TRANSPARENT}, and the reason is kept.
   */
  EXPLICIT
}
