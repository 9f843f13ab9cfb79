package io.rdma4j.bench.pool;

import io.rdma4j.Availability;
import io.rdma4j.bench.natives.FixedBuffers;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Every row there is, and which two of them make a ratio. Rows are run in this order, so what is
 * compared stands together.
 */
final class Catalog {
  /**
   * A figure to quote: the rival's time by ours.
   *
   * @param key name in tables and files, for example {@code hit8k_vs_glibc}
   */
  record Pair(String key, String rivalRow, String ourRow) {}

  private static final Map<String, String> HIT_METHODS = new LinkedHashMap<>();

  static {
    HIT_METHODS.put("glibc", "glibc");
    HIT_METHODS.put("glibc_plain", "glibcPlain");
    HIT_METHODS.put("tcmalloc", "tcmalloc");
    HIT_METHODS.put("jemalloc", "jemalloc");
    HIT_METHODS.put("mimalloc", "mimalloc");
    HIT_METHODS.put("netty_pooled", "nettyPooled");
    HIT_METHODS.put("netty_adaptive", "nettyAdaptive");
    HIT_METHODS.put("arena", "arena");
  }

  private static final Map<String, String> TOUCH_METHODS = new LinkedHashMap<>();

  static {
    TOUCH_METHODS.put("glibc", "glibcTouched");
    TOUCH_METHODS.put("tcmalloc", "tcmallocTouched");
    TOUCH_METHODS.put("netty_adaptive", "nettyAdaptiveTouched");
  }

  private static final List<String> PLATFORM_MIXES = List.of("xthread", "larson", "xmalloc");
  private static final List<String> PLATFORM_RIVALS =
      List.of("glibc", "tcmalloc", "jemalloc", "mimalloc", "netty_pooled", "netty_adaptive");

  private final Map<String, Row> rows = new LinkedHashMap<>();
  private final List<Pair> pairs = new ArrayList<>();

  /**
   * Lists the rows.
   *
   * @param sizesKib block sizes of the single-threaded rows
   */
  Catalog(int... sizesKib) {
    for (int sizeKib : sizesKib) {
      addHits(sizeKib);
      if (sizeKib == 8) {
        addView();
        addTouched();
        addRegistration("pin", FixedBuffers.timingAvailability());
        addRegistration("regmr", Rivals.REGISTRAR.availability());
        addCache();
      }
    }
    PLATFORM_MIXES.forEach(mix -> addMix(mix, "platform", PLATFORM_RIVALS));
    addMix("virtual", "virtual", List.of("glibc", "netty_adaptive"));
  }

  private void addHits(int sizeKib) {
    String ours = "hit" + sizeKib + "k";
    Map<String, String> parameters = Map.of("sizeBytes", Integer.toString(sizeKib << 10));
    add(new Row(ours, hit("ours"), parameters, Rivals.OURS.availability()));
    HIT_METHODS.forEach(
        (rival, method) -> {
          add(new Row(ours + "_" + rival, hit(method), parameters, Rivals.availability(rival)));
          pairs.add(new Pair(ours + "_vs_" + rival, ours + "_" + rival, ours));
        });
  }

  private void addView() {
    add(new Row("view8k", hit("view"), Map.of("sizeBytes", "8192"), Rivals.OURS.availability()));
  }

  private void addTouched() {
    Map<String, String> parameters = Map.of("sizeBytes", "8192");
    add(new Row("touch8k", hit("oursTouched"), parameters, Rivals.OURS.availability()));
    add(new Row("touchview8k", hit("viewTouched"), parameters, Rivals.OURS.availability()));
    TOUCH_METHODS.forEach(
        (rival, method) -> {
          String name = "touch8k_" + rival;
          add(new Row(name, hit(method), parameters, Rivals.availability(rival)));
          pairs.add(new Pair("touch8k_vs_" + rival, name, "touch8k"));
        });
  }

  private void addRegistration(String method, Availability availability) {
    String name = method + "8k";
    add(
        new Row(
            name, RegistrationBenchmark.class.getName() + "." + method, Map.of(), availability));
    pairs.add(new Pair("hit8k_vs_" + method, name, "hit8k"));
  }

  private void addCache() {
    String method = CacheBenchmark.class.getName() + ".hit";
    add(new Row("regcache8k", method, Map.of(), Availability.usable("ours")));
    pairs.add(new Pair("regcache8k_vs_pin", "pin8k", "regcache8k"));
    pairs.add(new Pair("regcache8k_vs_regmr", "regmr8k", "regcache8k"));
  }

  private void addMix(String pattern, String method, List<String> rivals) {
    String ours = pattern + "8k";
    add(mix(ours, pattern, method, Rivals.OUR_NAME));
    for (String rival : rivals) {
      add(mix(ours + "_" + rival, pattern, method, rival));
      pairs.add(new Pair(ours + "_vs_" + rival, ours + "_" + rival, ours));
    }
  }

  private static Row mix(String name, String pattern, String method, String rival) {
    return new Row(
        name,
        MixBenchmark.class.getName() + "." + method,
        Map.of("pattern", pattern, "rival", rival, "sizeBytes", "8192"),
        Rivals.named(rival).availability());
  }

  private static String hit(String method) {
    return HitBenchmark.class.getName() + "." + method;
  }

  private void add(Row row) {
    rows.put(row.name(), row);
  }

  /** Returns every ratio, possible here or not. */
  List<Pair> pairs() {
    return pairs;
  }

  /** Returns a row by its name. */
  Row row(String name) {
    Row row = rows.get(name);
    if (row == null) {
      throw new IllegalArgumentException("no row is called " + name);
    }
    return row;
  }

  /**
   * Returns the rows to run: those a pattern finds by name, and both rows of each ratio that it
   * finds by key; all when there is no pattern.
   */
  List<Row> select(List<Pattern> patterns) {
    Set<String> names = new LinkedHashSet<>();
    for (String name : rows.keySet()) {
      boolean wanted =
          patterns.isEmpty()
              || found(patterns, name)
              || pairs.stream()
                  .filter(pair -> pair.rivalRow().equals(name) || pair.ourRow().equals(name))
                  .anyMatch(pair -> found(patterns, pair.key()));
      if (wanted) {
        names.add(name);
      }
    }
    return names.stream().map(this::row).toList();
  }

  private static boolean found(List<Pattern> patterns, String text) {
    return patterns.stream().anyMatch(pattern -> pattern.matcher(text).find());
  }
}
