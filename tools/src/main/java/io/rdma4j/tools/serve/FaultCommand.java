package io.rdma4j.tools.serve;

import java.io.IOException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Breaks a node that {@code serve} runs on this machine. */
@Command(
    name = "fault",
    description =
        "Break a node that 'serve' runs on this machine; without a name, list the faults.",
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:the fault was done",
      "64:wrong command line",
      "70:no such node, or it could not do that"
    })
public final class FaultCommand implements Callable<Integer> {
  private static final int MOST_SECONDS = 3600;
  private static final int DEFAULT_SECONDS = 5;

  @Spec private @Nullable CommandSpec spec;

  @Parameters(arity = "0..1", paramLabel = "NAME", description = "The fault.")
  private @Nullable String name;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      description = "How long, for a fault that lasts (default: " + DEFAULT_SECONDS + ").")
  private @Nullable Integer seconds;

  @Option(
      names = "--pid",
      paramLabel = "PID",
      description = "The serving process (default: the only one).")
  private @Nullable Long pid;

  /** Created by picocli. */
  public FaultCommand() {}

  @Override
  public Integer call() throws IOException {
    CommandSpec command = Objects.requireNonNull(spec, "spec");
    PrintWriter out = command.commandLine().getOut();
    if (name == null) {
      for (Fault fault : Fault.values()) {
        out.printf("%-17s %s%n", fault.word(), fault.meaning());
      }
      return 0;
    }
    Fault fault =
        Fault.of(name)
            .orElseThrow(() -> wrong("no fault '" + name + "'; without a name, they are listed"));
    if (seconds != null && !fault.lasts()) {
      throw wrong(name + " is over at once; --seconds is for what lasts");
    }
    int lastingSeconds = seconds == null ? DEFAULT_SECONDS : seconds;
    if (lastingSeconds < 1 || lastingSeconds > MOST_SECONDS) {
      throw wrong("--seconds is " + seconds + ", allowed are 1 to " + MOST_SECONDS);
    }
    out.println(FaultSocket.send(pid == null ? only() : pid, name + " " + lastingSeconds));
    return 0;
  }

  private ParameterException wrong(String message) {
    return new ParameterException(Objects.requireNonNull(spec, "spec").commandLine(), message);
  }

  private static long only() throws IOException {
    List<Long> serving = FaultSocket.serving();
    if (serving.size() != 1) {
      throw new IOException(
          serving.isEmpty()
              ? "no node is being served by this user; start one: ./rdma4j serve"
              : "several nodes are being served, choose one by --pid: " + serving);
    }
    return serving.getFirst();
  }
}
