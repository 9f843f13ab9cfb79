package io.rdma4j.stress;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.openjdk.jcstress.JCStress;
import org.openjdk.jcstress.Options;
import org.openjdk.jcstress.infra.collectors.DiskReadCollector;
import org.openjdk.jcstress.infra.collectors.InProcessCollector;
import org.openjdk.jcstress.infra.collectors.TestResult;
import org.openjdk.jcstress.infra.runners.TestList;

/**
 * Runs the stress cases and judges them.
 *
 * <p>A case passes when no forbidden outcome was seen and every <em>interesting</em> one was. The
 * second half is what makes the first one worth something: cases of broken variants name the damage
 * as interesting, cases of the real thing name the race that must have happened. Races are a matter
 * of luck, so a case that lacks an outcome is run again, longer each time, together with the others
 * of its structure: the real thing has to withstand what the broken one needed. It fails after
 * {@link #MOST_ROUNDS}.
 *
 * <pre>
 *  usage: Stress DIRECTORY [long] [REGEXP]
 * </pre>
 *
 * Reports and the log of jcstress go to the directory. {@code long} runs every case in all
 * configurations that jcstress knows: each actor by the interpreter and both compilers, and more.
 */
public final class Stress {
  private static final int MOST_ROUNDS = 4;
  private static final int SHORT_MS = 250;
  private static final int LONG_MS = 1_000;

  /**
   * Samples between two synchronisations of the actors, and such strides between two checks of the
   * time: small, since some cases revoke in every sample, which costs some 50 us.
   */
  private static final List<String> STRIDES = List.of("-strideSize", "32", "-strideCount", "16");

  private final Path directory;
  private final boolean isLong;
  private final Map<String, Verdict> verdicts = new TreeMap<>();

  private Stress(Path directory, boolean isLong) {
    this.directory = directory;
    this.isLong = isLong;
  }

  /** Runs the cases; ends the process with 1 when one fails. */
  public static void main(String[] args) throws Exception {
    List<String> arguments = new ArrayList<>(List.of(args));
    Path directory = Files.createDirectories(Path.of(arguments.removeFirst()));
    boolean isLong = arguments.remove("long");
    String filter = arguments.isEmpty() ? "" : arguments.getFirst();
    boolean passed = new Stress(directory, isLong).run(filter);
    System.exit(passed ? 0 : 1);
  }

  private boolean run(String filter) throws Exception {
    Pattern pattern = Pattern.compile(filter);
    TestList.tests().stream()
        .filter(name -> pattern.matcher(name).find())
        .forEach(name -> verdicts.put(name, new Verdict(name)));
    if (verdicts.isEmpty()) {
      throw new IllegalArgumentException("no stress case has a name with " + filter);
    }
    for (int round = 0; round < MOST_ROUNDS; round++) {
      Set<String> unsettled = new HashSet<>();
      namesOf(verdict -> !verdict.isSettled()).forEach(name -> unsettled.add(structureOf(name)));
      List<String> left = namesOf(verdict -> unsettled.contains(structureOf(verdict.name())));
      if (!left.isEmpty()) {
        runRound(left, round);
      }
    }
    verdicts.values().forEach(verdict -> System.out.print(verdict.describe()));
    List<String> failed = namesOf(verdict -> !verdict.isPassed());
    System.out.printf(
        "stress: %d cases, %d failed %s; reports are in %s%n",
        verdicts.size(), failed.size(), failed, directory);
    return failed.isEmpty();
  }

  private static String structureOf(String name) {
    return name.substring(0, name.lastIndexOf('.'));
  }

  private List<String> namesOf(Predicate<Verdict> condition) {
    return verdicts.values().stream().filter(condition).map(Verdict::name).toList();
  }

  private void runRound(List<String> names, int round) throws Exception {
    Path log = directory.resolve("jcstress-" + round + ".log");
    PrintStream console = System.out;
    Options options = new Options(options(names, round).toArray(String[]::new));
    if (!options.parse()) {
      throw new IllegalStateException("jcstress refuses its options: " + options(names, round));
    }
    try (PrintStream file = new PrintStream(log.toFile(), StandardCharsets.UTF_8)) {
      System.setOut(file);
      new JCStress(options).run();
    } catch (AssertionError forbidden) {
      // What it names is in the results as well, which are judged below.
    } finally {
      System.setOut(console);
    }
    for (TestResult result : results(options)) {
      Objects.requireNonNull(verdicts.get(result.getName())).add(result);
    }
  }

  private List<String> options(List<String> names, int round) {
    List<String> options = new ArrayList<>();
    options.addAll(List.of("-t", filterOf(names)));
    options.addAll(List.of("-r", directory.resolve("report-" + round).toString()));
    options.addAll(List.of("-f", "1", "-fsm", "1", "-pth", "false"));
    options.addAll(List.of("-iters", isLong ? "3" : "2"));
    options.addAll(List.of("-time", String.valueOf((isLong ? LONG_MS : SHORT_MS) << round)));
    options.addAll(STRIDES);
    String common = "--enable-native-access=ALL-UNNAMED -XX:+UseSerialGC";
    if (isLong) {
      options.addAll(List.of("-jvmArgsPrepend", common));
    } else {
      options.addAll(List.of("-sc", "false", "-jvmArgs", common));
    }
    return options;
  }

  private static String filterOf(List<String> names) {
    return names.stream().map(Pattern::quote).collect(Collectors.joining("|", "^(", ")$"));
  }

  /** Reads the file that jcstress wrote to the working directory, and moves it to the others. */
  private List<TestResult> results(Options options) throws IOException, ClassNotFoundException {
    Path file = Path.of(options.getResultFile());
    InProcessCollector collector = new InProcessCollector();
    DiskReadCollector reader = new DiskReadCollector(file.toString(), collector);
    try {
      reader.dump();
    } finally {
      reader.close();
      Files.deleteIfExists(file);
    }
    return List.copyOf(collector.getTestResults());
  }
}
