package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

class PageCountsTest {
  private static final List<String> SMAPS =
      """
      555500000000-555500001000 r--p 00000000 fd:00 1234                       /usr/bin/AnonHugePages: 1 kB
      Rss:                   4 kB
      7f0000000000-7f0000200000 rw-p 00000000 00:00 0
      Size:               2048 kB
      Rss:                2048 kB
      AnonHugePages:      2048 kB
      VmFlags: rd wr mr mw me ac sd hg
      7f0000200000-7f0000600000 rw-p 00000000 00:0f 77                         /anon_hugepage (deleted)
      Size:               4096 kB
      Rss:                   0 kB
      AnonHugePages:         0 kB
      Shared_Hugetlb:        0 kB
      Private_Hugetlb:    2048 kB
      7f0000600000-7f0000700000 rw-p 00000000 00:00 0
      Rss:                 512 kB
      AnonHugePages:         0 kB
      ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
      Rss:                   4 kB
      """
          .lines()
          .toList();

  private static PageCounts within(long start, long end) {
    return PageCounts.within(SMAPS, start, end - start);
  }

  @Test
  void areasWithinTheRangeAreAddedUp() {
    assertEquals(
        new PageCounts((4096 + 512) << 10, 4096 << 10), within(0x7f0000000000L, 0x7f0000700000L));
    assertEquals(new PageCounts(2048 << 10, 2048 << 10), within(0x7f0000000000L, 0x7f0000200000L));
  }

  @Test
  void areasThatReachBeyondItAreNot() {
    assertEquals(new PageCounts(0, 0), within(0x7f0000000000L, 0x7f00001ff000L));
    assertEquals(new PageCounts(0, 0), within(0x7f0000001000L, 0x7f0000200000L));
    assertEquals(new PageCounts(0, 0), PageCounts.within(List.of(), 0, Long.MAX_VALUE));
  }
}
