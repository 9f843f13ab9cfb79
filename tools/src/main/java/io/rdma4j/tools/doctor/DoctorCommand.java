package io.rdma4j.tools.doctor;

import io.rdma4j.tools.Terminal;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Says which RDMA devices can be used, why the others cannot, and what to do about it. */
@Command(
    name = "doctor",
    description = "Say which RDMA devices can be used, why not, and what to do about it.",
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:a device can be used",
      "1:a device can be used, with warnings",
      "2:no device can be used",
      "64:wrong command line",
      "70:failure of the command itself"
    })
public final class DoctorCommand implements Callable<Integer> {
  private static final double MIN_WATCH_SECONDS = 0.1;
  private static final double MAX_WATCH_SECONDS = 86_400;
  private static final double NANOS_PER_SECOND = 1e9;

  @Spec private @Nullable CommandSpec spec;

  @Option(names = "--json", description = "Print one JSON object.")
  private boolean json;

  @Option(
      names = "--root",
      paramLabel = "DIR",
      description =
          "Read sys, proc, dev, etc and usr below DIR, a tree copied from another machine. Nothing"
              + " of this machine enters the answer; what DIR lacks is unknown.")
  private @Nullable Path root;

  @Option(
      names = "--then",
      paramLabel = "DIR",
      description =
          "Judge also what changed between --root and DIR, a later copy of the same machine. DIR"
              + " may hold sys/class/infiniband alone.")
  private @Nullable Path then;

  @Option(
      names = "--watch",
      arity = "0..1",
      paramLabel = "SECONDS",
      fallbackValue = "10",
      description =
          "Read the counters twice, SECONDS apart (${FALLBACK-VALUE} when not given), and judge"
              + " what was counted between.")
  private @Nullable Double watchSeconds;

  /** Created by picocli. */
  DoctorCommand() {}

  @Override
  public Integer call() throws IOException, InterruptedException {
    Diagnosis diagnosis = examine();
    PrintWriter out = command().getOut();
    if (json) {
      out.println(DiagnosisJson.render(diagnosis));
    } else {
      boolean colour = command().getColorScheme().ansi().enabled();
      new DiagnosisText(out, colour).print(diagnosis);
    }
    out.flush();
    return diagnosis.exitStatus();
  }

  private Diagnosis examine() throws IOException, InterruptedException {
    Path machine = root == null ? Path.of("/") : directory("--root", root);
    if (then != null) {
      if (root == null || watchSeconds != null) {
        throw wrong("--then names a later copy of --root DIR; give both, and no --watch");
      }
      return compareTrees(Snapshot.read(machine), directory("--then", then));
    }
    if (watchSeconds == null) {
      return Diagnosis.of(Snapshot.read(machine), null);
    }
    if (!(watchSeconds >= MIN_WATCH_SECONDS && watchSeconds <= MAX_WATCH_SECONDS)) {
      throw wrong(
          "--watch takes "
              + MIN_WATCH_SECONDS
              + " to "
              + MAX_WATCH_SECONDS
              + " seconds, was "
              + watchSeconds);
    }
    if (Terminal.isPresent()) {
      command().getErr().printf("counters are read again in %s s ...%n", watchSeconds);
    }
    return watch(machine, watchSeconds);
  }

  private CommandLine command() {
    return Objects.requireNonNull(spec, "spec").commandLine();
  }

  private static Diagnosis watch(Path machine, double seconds)
      throws IOException, InterruptedException {
    long beganNs = System.nanoTime();
    Snapshot earlier = Snapshot.read(machine);
    Thread.sleep(Duration.ofNanos((long) (seconds * NANOS_PER_SECOND)));
    double elapsed = (System.nanoTime() - beganNs) / NANOS_PER_SECOND;
    Snapshot later = Snapshot.read(machine);
    return Diagnosis.of(later, Comparison.of(earlier, later, elapsed));
  }

  private Diagnosis compareTrees(Snapshot earlier, Path laterRoot) throws IOException {
    if (!Files.isDirectory(laterRoot.resolve("sys/class/infiniband"))) {
      throw wrong("--then " + laterRoot + " holds no sys/class/infiniband to compare with");
    }
    Snapshot later = Snapshot.read(laterRoot);
    return Diagnosis.of(earlier.updatedBy(later), Comparison.of(earlier, later, null));
  }

  private Path directory(String option, Path path) {
    if (!Files.isDirectory(path)) {
      throw wrong(
          option + " " + path + " is not a directory; name the folder that holds the copied sys/");
    }
    return path;
  }

  private ParameterException wrong(String message) {
    return new ParameterException(command(), message);
  }
}
