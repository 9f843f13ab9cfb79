package io.rdma4j.bench.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.bench.Series;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.openjdk.jmh.annotations.Benchmark;

final class CatalogTest {
  private final Catalog catalog = new Catalog(8, 64);

  private List<String> select(String... patterns) {
    return catalog.select(Arrays.stream(patterns).map(Pattern::compile).toList()).stream()
        .map(Row::name)
        .toList();
  }

  private static Measured measured() {
    return new Measured(new Series(List.of(new double[] {2})), 0);
  }

  @Test
  void everyRowThatCanRunNamesABenchmark() throws ClassNotFoundException {
    for (Row row : catalog.select(List.of())) {
      if (row.availability().usable()) {
        int dot = row.benchmark().lastIndexOf('.');
        Class<?> type = Class.forName(row.benchmark().substring(0, dot));
        String method = row.benchmark().substring(dot + 1);
        assertTrue(
            Arrays.stream(type.getMethods())
                .anyMatch(
                    m -> m.getName().equals(method) && m.isAnnotationPresent(Benchmark.class)),
            () -> row + " names no benchmark");
      }
    }
  }

  @Test
  void aRatioIsSelectedWithBothOfItsRows() {
    assertEquals(List.of("hit8k", "hit8k_tcmalloc"), select("^hit8k_vs_tcmalloc$"));
  }

  @Test
  void aRowIsSelectedByItself() {
    assertEquals(List.of("hit64k_arena"), select("^hit64k_arena$"));
  }

  @Test
  void everyKeyIsARatioOrHasAReason() {
    Set<String> keys = new HashSet<>();
    for (Catalog.Pair pair : catalog.pairs()) {
      assertTrue(keys.add(pair.key()), () -> pair.key() + " is there twice");
      assertEquals(pair.ourRow(), catalog.row(pair.ourRow()).name());
      assertEquals(pair.rivalRow(), catalog.row(pair.rivalRow()).name());
    }
  }

  @Test
  void aRatioWithoutItsBaselineIsMissing() {
    PoolReport report =
        new PoolReport(catalog, Set.of("hit8k_glibc"), Map.of("hit8k_glibc", measured()));
    assertFalse(report.ratios().containsKey("hit8k_vs_glibc"));
    assertTrue(
        report.missing().getOrDefault("hit8k_vs_glibc", "").contains("hit8k was not selected"),
        () -> "reasons: " + report.missing());
  }

  @Test
  void aRatioOfTwoRowsIsThere() {
    PoolReport report =
        new PoolReport(
            catalog,
            Set.of("hit8k_glibc", "hit8k"),
            Map.of("hit8k_glibc", measured(), "hit8k", measured()));
    assertEquals(Set.of("hit8k_vs_glibc"), report.ratios().keySet());
    assertFalse(report.missing().containsKey("hit8k_vs_glibc"));
  }

  @Test
  void aRivalThatIsNotHereSaysWhy() {
    PoolReport report = new PoolReport(catalog, Set.of("regmr8k"), Map.of());
    assertEquals(
        catalog.row("regmr8k").availability().reason(), report.missing().get("hit8k_vs_regmr"));
  }
}
