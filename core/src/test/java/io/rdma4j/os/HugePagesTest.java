package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The kinds of pages of a mapping, and what it says of them. */
class HugePagesTest {
  private static final long HUGE = Mapping.HUGE_PAGE_BYTES;
  private static final String POOL = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
  private static final long MOST_POOL_PAGES = 64;

  private static long poolPages(String attribute) {
    return SystemRoot.host().readLong(POOL + attribute).orElse(0);
  }

  /** More pages than the system can reserve now, and not many. */
  private static long pagesBeyondThePool() {
    long available = poolPages("free_hugepages") + poolPages("nr_overcommit_hugepages");
    assumeTrue(available < MOST_POOL_PAGES, available + " huge pages are too many to use up");
    return available + 2;
  }

  private static void writeEachPage(Mapping mapping, long value) {
    for (long offset = 0; offset < mapping.lengthBytes(); offset += Mapping.pageSizeBytes()) {
      mapping.segment().set(ValueLayout.JAVA_LONG, offset, value + offset);
    }
  }

  private static void assertEachPage(Mapping mapping, long value) {
    for (long offset = 0; offset < mapping.lengthBytes(); offset += Mapping.pageSizeBytes()) {
      assertEquals(value + offset, mapping.segment().get(ValueLayout.JAVA_LONG, offset));
    }
  }

  @Test
  void ordinaryPagesStayOrdinary() {
    try (Mapping mapping = Mapping.anonymous(4 * HUGE, Mapping.Option.POPULATE)) {
      assertEquals(new Backing(HugePages.NONE, HugePages.NONE, 4 * HUGE, 0, ""), mapping.backing());
    }
  }

  @Test
  void transparentPagesAreCounted() {
    String modes =
        SystemRoot.host().read("/sys/kernel/mm/transparent_hugepage/enabled").orElse("[never]");
    try (Mapping mapping =
        Mapping.anonymous(4 * HUGE, HugePages.TRANSPARENT, Mapping.Option.POPULATE)) {
      Backing backing = mapping.backing();
      assertEquals(4 * HUGE, backing.residentBytes());
      assertEquals(HugePages.TRANSPARENT, backing.asked());
      assertEquals(backing.hugeBytes() < 4 * HUGE, !backing.reason().isEmpty(), backing::toString);
      assumeTrue(!modes.contains("[never]"), "this system has no transparent huge pages");
      assumeTrue(backing.hugeBytes() > 0, backing.reason());
      assertEquals(0, backing.hugeBytes() % HUGE);
    }
  }

  @Test
  void shortMappingsHaveNoHugePages() {
    try (Mapping mapping = Mapping.anonymous(HUGE - 1 - 4096, HugePages.TRANSPARENT)) {
      Backing backing = mapping.backing();
      assertEquals(HugePages.TRANSPARENT, backing.asked());
      assertEquals(HugePages.NONE, backing.granted());
      assertEquals("shorter than a huge page", backing.reason());
    }
  }

  @Test
  void neighboursAreNotCounted() {
    List<Mapping> mappings = new ArrayList<>();
    try {
      for (int i = 0; i < 16; i++) {
        mappings.add(Mapping.anonymous(HUGE, HugePages.TRANSPARENT, Mapping.Option.DONT_FORK));
      }
      for (int i = 0; i < 16; i += 3) {
        mappings.get(i).populate(0, HUGE);
      }
      for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 16; i++) {
          assertEquals(i % 3 == 0 ? HUGE : 0, mappings.get(i).backing().residentBytes());
        }
      }
    } finally {
      mappings.forEach(Mapping::close);
    }
  }

  @Test
  void explicitPagesFallBackWhereTooFewAreReserved() {
    long pages = pagesBeyondThePool();
    try (Mapping mapping = Mapping.anonymous((pages - 1) * HUGE + 1, HugePages.EXPLICIT)) {
      assertEquals(pages * HUGE, mapping.lengthBytes());
      assertEquals(0, mapping.address() % HUGE);
      mapping.populate(0, HUGE);
      Backing backing = mapping.backing();
      assertEquals(HugePages.EXPLICIT, backing.asked());
      assertEquals(HugePages.TRANSPARENT, backing.granted());
      assertEquals(HUGE, backing.residentBytes());
      assertTrue(backing.reason().startsWith("mmap(MAP_HUGETLB): "), backing.reason());
      if (SystemRoot.host().exists(POOL)) {
        assertTrue(backing.reason().contains("vm.nr_hugepages"), backing.reason());
        assertTrue(backing.reason().contains(pages + " pages"), backing.reason());
      }
    }
  }

  @Test
  void explicitPagesComeFromThePool() {
    long free = poolPages("free_hugepages") - poolPages("resv_hugepages");
    assumeTrue(free >= 2, "2 free huge pages are needed, vm.nr_hugepages leaves " + free);
    try (Mapping mapping = Mapping.anonymous(HUGE + 1, HugePages.EXPLICIT)) {
      assertEquals(2 * HUGE, mapping.lengthBytes());
      assertEquals(
          new Backing(HugePages.EXPLICIT, HugePages.EXPLICIT, 0, 0, ""), mapping.backing());
      mapping.populate(HUGE + 5, 1);
      assertEquals(HUGE, mapping.backing().hugeBytes());
      mapping.populate(0, 2 * HUGE);
      writeEachPage(mapping, 3);
      assertEquals(
          new Backing(HugePages.EXPLICIT, HugePages.EXPLICIT, 2 * HUGE, 2 * HUGE, ""),
          mapping.backing());
      assertEachPage(mapping, 3);
    }
  }

  /**
   * Without a reservation a page is missing only when it is populated, as with a cgroup's limit.
   */
  @Test
  void explicitPagesThatCanNotBeHadAreReplaced() {
    assumeTrue(SystemRoot.host().exists(POOL), "this kernel has no huge pages of 2 MiB");
    long pages = pagesBeyondThePool();
    try (Mapping mapping =
        Mapping.anonymous(
            pages * HUGE, HugePages.EXPLICIT, LibC.MAP_NORESERVE, Mapping.Option.DONT_FORK)) {
      assertEquals(HugePages.EXPLICIT, mapping.backing().granted());
      assertEquals("", mapping.backing().reason());
      for (int round = 0; round < 2; round++) {
        for (long page = pages - 1; page >= 0; page--) {
          mapping.populate(page * HUGE, HUGE);
        }
        Backing backing = mapping.backing();
        assertEquals(pages * HUGE, backing.residentBytes());
        assertTrue(backing.reason().contains("hugetlb limit"), backing.reason());
        if (round == 0) {
          writeEachPage(mapping, 42);
        }
      }
      assertEachPage(mapping, 42);
    }
  }

  @Test
  void partsArePopulatedBySeveralThreads() throws Exception {
    int parts = 4;
    try (Mapping mapping = Mapping.anonymous(parts * 2L * HUGE, HugePages.TRANSPARENT)) {
      assertEquals(0, mapping.backing().residentBytes());
      List<Throwable> failures = new ArrayList<>();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < parts; i++) {
        long offset = i * 2L * HUGE;
        Thread thread = new Thread(() -> mapping.populate(offset, 2 * HUGE));
        thread.setUncaughtExceptionHandler(
            (t, e) -> {
              synchronized (failures) {
                failures.add(e);
              }
            });
        threads.add(thread);
        thread.start();
      }
      for (Thread thread : threads) {
        thread.join();
      }
      assertEquals(List.of(), failures);
      assertEquals(mapping.lengthBytes(), mapping.backing().residentBytes());
    }
  }

  @Test
  void populatingKeepsWhatIsThere() {
    long page = Mapping.pageSizeBytes();
    try (Mapping mapping = Mapping.anonymous(4 * page)) {
      mapping.segment().set(ValueLayout.JAVA_LONG, page, 42);
      mapping.populate(2 * page - 1, 2);
      assertEquals(2 * page, mapping.backing().residentBytes());
      Mapping.touchPages(mapping.segment());
      assertEquals(4 * page, mapping.backing().residentBytes());
      assertEquals(42, mapping.segment().get(ValueLayout.JAVA_LONG, page));
    }
  }

  @Test
  void onlyPartsOfTheMappingArePopulated() {
    long page = Mapping.pageSizeBytes();
    Mapping mapping = Mapping.anonymous(2 * page);
    mapping.populate(0, 0);
    assertEquals(0, mapping.backing().residentBytes());
    assertThrows(IndexOutOfBoundsException.class, () -> mapping.populate(page, page + 1));
    assertThrows(IndexOutOfBoundsException.class, () -> mapping.populate(-1, 1));
    assertThrows(IndexOutOfBoundsException.class, () -> mapping.populate(1, Long.MAX_VALUE));
    mapping.close();
    assertThrows(IllegalStateException.class, () -> mapping.populate(0, page));
    assertThrows(IllegalStateException.class, mapping::backing);
    assertThrows(IllegalStateException.class, mapping::pageNodes);
    assertThrows(IllegalStateException.class, () -> mapping.preferNode(0));
    assertFalse(mapping.toString().isEmpty());
  }
}
