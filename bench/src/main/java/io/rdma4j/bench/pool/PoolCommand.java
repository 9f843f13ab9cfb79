package io.rdma4j.bench.pool;

import io.rdma4j.bench.Machine;
import io.rdma4j.bench.OutputFile;
import io.rdma4j.bench.Progress;
import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.pool.PoolStatistics.SizeClass;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Races the pool against other allocators. */
@Command(
    name = "pool",
    description = "The pool against other allocators, in one process and in turn.")
public final class PoolCommand implements Callable<Integer> {
  private static final Race.Plan FULL = new Race.Plan(1_000, 15, 6, 30, 330);
  private static final Race.Plan QUICK = new Race.Plan(200, 5, 5, 10, 45);

  @Spec private CommandSpec spec;

  @Option(names = "--quick", description = "Under a minute: fewer sizes, shorter rounds.")
  private boolean quick;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      converter = OutputFile.class,
      description = "Write ratios, rows with every batch, and facts about the machine there.")
  private @Nullable Path json;

  @Option(
      names = "--only",
      arity = "1..*",
      paramLabel = "REGEX",
      description = "Only rows or ratios with such a name, for example hit8k_vs_glibc.")
  private List<Pattern> only = List.of();

  /** Created by picocli. */
  @SuppressWarnings("NullAway.Init") // picocli fills spec before it calls
  public PoolCommand() {}

  @Override
  public Integer call() throws Exception {
    Race.Plan plan = quick ? QUICK : FULL;
    Map<String, Object> context = new LinkedHashMap<>();
    context.put("quick", quick);
    context.put("machine", Machine.facts());
    try {
      Catalog catalog = quick ? new Catalog(8, 64) : new Catalog(8, 16, 32, 64);
      List<Row> selected = catalog.select(only);
      List<Row> rows = selected.stream().filter(row -> row.availability().usable()).toList();
      if (rows.isEmpty()) {
        throw new ParameterException(spec.commandLine(), "--only leaves no row that can run here");
      }
      Race race = new Race(rows, plan, new Progress());
      race.warmUp();
      PoolStatistics before = Rivals.POOL.statistics();
      long faultsBefore = Machine.minorPageFaults();
      Map<String, Measured> measured = race.run();
      context.put("pageFaultsInRounds", Machine.minorPageFaults() - faultsBefore);
      context.put("registrar", Rivals.REGISTRAR.name());
      context.put("poolInRounds", difference(before, Rivals.POOL.statistics()));
      PoolReport report = new PoolReport(catalog, names(selected), measured);
      PrintWriter out = spec.commandLine().getOut();
      out.print(report.table());
      out.flush();
      if (json != null) {
        report.writeJson(json, context);
      }
      return 0;
    } finally {
      Rivals.close();
    }
  }

  private static Set<String> names(List<Row> rows) {
    return rows.stream().map(Row::name).collect(Collectors.toSet());
  }

  /** What the pool did, all classes together: a hit path registers nothing and steals nothing. */
  private static Map<String, Long> difference(PoolStatistics before, PoolStatistics after) {
    Map<String, Long> counts = new LinkedHashMap<>();
    counts.put("registrations", after.registrations() - before.registrations());
    counts.put("allocations", sum(after, before, SizeClass::allocations));
    counts.put("threadCacheHits", sum(after, before, SizeClass::threadCacheHits));
    counts.put("sharedHits", sum(after, before, SizeClass::sharedHits));
    counts.put("steals", sum(after, before, SizeClass::steals));
    counts.put("growths", sum(after, before, SizeClass::growths));
    return counts;
  }

  private static long sum(
      PoolStatistics after, PoolStatistics before, ToLongFunction<SizeClass> count) {
    return after.classes().stream().mapToLong(count).sum()
        - before.classes().stream().mapToLong(count).sum();
  }
}
