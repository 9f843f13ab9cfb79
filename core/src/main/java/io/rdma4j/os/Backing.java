package io.rdma4j.os;

/**
 * The pages that a mapping has at one moment.
 *
 * @param asked the kind of pages that its maker wanted
 * @param granted the kind that the kernel agreed to when the mapping was made
 * @param residentBytes how much of the mapping is present in memory
 * @param hugeBytes how much of it lies in huge pages (mapped by one entry of the page directory)
 * @param reason why not all that is present lies in huge pages, when they were asked for; else
 *     empty
 */
public record Backing(
    HugePages asked, HugePages granted, long residentBytes, long hugeBytes, String reason) {
  private static final String MODES = "/sys/kernel/mm/transparent_hugepage/enabled";

  static Backing of(HugePages asked, HugePages granted, PageCounts counts, String fallback) {
    String reason = fallback;
    if (reason.isEmpty()
        && granted == HugePages.TRANSPARENT
        && counts.hugeBytes() < counts.residentBytes()) {
      reason = whyNotAllHuge();
    }
    return new Backing(asked, granted, counts.residentBytes(), counts.hugeBytes(), reason);
  }

  private static String whyNotAllHuge() {
    String modes = SystemRoot.host().read(MODES).orElse("");
    if (modes.isEmpty()) {
      return "this kernel has no transparent huge pages";
    }
    return modes.contains("[never]")
        ? MODES + " is set to never"
        : "the kernel had too few free huge pages when the memory was populated, or the mapping's"
            + " end is no whole one; khugepaged may provide them later";
  }
}
