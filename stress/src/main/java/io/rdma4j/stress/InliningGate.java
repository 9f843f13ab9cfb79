package io.rdma4j.stress;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Looks whether C2 made one piece of code of each hot path, from the method that users call down to
 * the store: an access through a memory segment costs a call where that fails.
 */
final class InliningGate {
  private static final long TIMEOUT_S = 120;
  private static final String POOL = "io.rdma4j.pool.";

  /** Methods that users call, and what has to be in their code. */
  private static final Map<String, String> HOT =
      new TreeMap<>(
          Map.of(
              POOL + "RegisteredBufferPool::tryAllocate", POOL + "internal.Magazine::take",
              POOL + "RegisteredBuffer::release", POOL + "internal.Magazine::give",
              POOL + "PoolView::allocate", POOL + "internal.Magazine::take",
              POOL + "PoolView::release", POOL + "internal.Magazine::give"));

  /** The ways out of the hot paths: slow ones, that of virtual threads, and that of samples. */
  private static final Set<String> WAYS_OUT =
      Set.of(
          POOL + "internal.BlockPool::takeSlow",
          POOL + "internal.BlockPool::releaseSlow",
          POOL + "internal.BlockPool::release",
          POOL + "internal.BlockPool::takeFromAnyStripe",
          POOL + "internal.Magazine::takeSlow");

  /** {@code 1849 515 b pack.age.Class::method (37 bytes)}, a compilation. */
  private static final Pattern COMPILATION =
      Pattern.compile("^ *\\d+ +\\d+ .{6} *(\\S+::\\S+)( @ \\d+)? \\(\\d+ bytes\\)$");

  /** {@code @ 27 pack.age.Class::method (12 bytes) what became of it}, below its caller. */
  private static final Pattern CALL =
      Pattern.compile("@ \\d+ +(\\S+::\\S+) \\(\\d+ bytes\\) +(.*)$");

  private final Map<String, Set<String>> inlined = new TreeMap<>();
  private final List<String> failures = new ArrayList<>();
  private String compiled = "";

  private InliningGate() {}

  /** Runs the loops; returns what is wrong. */
  static List<String> failures(Path directory) throws IOException, InterruptedException {
    Path log = directory.resolve("inlining.log");
    List<String> command =
        ChildJvm.command(
            "-Xbatch",
            "-XX:-TieredCompilation",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+PrintCompilation",
            "-XX:+PrintInlining");
    command.addAll(
        List.of(HotLoop.class.getName(), "1000", directory.resolve("unused.image").toString()));
    ChildJvm.run(command, log, TIMEOUT_S);
    InliningGate gate = new InliningGate();
    try (var lines = Files.lines(log)) {
      lines.forEach(gate::accept);
    }
    return gate.judge();
  }

  private void accept(String line) {
    Matcher compilation = COMPILATION.matcher(line);
    Matcher call = CALL.matcher(line);
    if (compilation.find()) {
      compiled = compilation.group(1);
    } else if (HOT.containsKey(compiled) && call.find()) {
      String callee = call.group(1);
      String outcome = call.group(2);
      if (!outcome.contains("failed to inline")) {
        inlined.computeIfAbsent(compiled, method -> new HashSet<>()).add(callee);
      } else if (!WAYS_OUT.contains(callee)) {
        failures.add(compiled + " calls " + callee + ": " + outcome);
      }
    }
  }

  private List<String> judge() {
    HOT.forEach(
        (method, callee) -> {
          if (!inlined.getOrDefault(method, Set.of()).contains(callee)) {
            failures.add(method + " was not seen to contain " + callee);
          }
        });
    return failures;
  }

  static int hotMethods() {
    return HOT.size();
  }
}
