package io.rdma4j.bench;

import io.rdma4j.Rdma4jException;
import io.rdma4j.bench.monitor.MonitorCommand;
import io.rdma4j.bench.natives.Linux.LinuxException;
import io.rdma4j.bench.pool.PoolCommand;
import io.rdma4j.bench.register.RegisterCommand;
import io.rdma4j.bench.transport.BatchCommand;
import io.rdma4j.bench.transport.CpuCommand;
import io.rdma4j.bench.transport.LatencyCommand;
import io.rdma4j.bench.transport.ThroughputCommand;
import io.rdma4j.bench.transport.VerbsCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.ScopeType;

/**
 * The {@code rdma4j bench} command.
 *
 * <p>Exit status: 0 when measured, {@value #EXIT_USAGE} for a wrong command line and {@value
 * #EXIT_FAILURE} for a failure, as in sysexits(3).
 */
@Command(
    name = "rdma4j bench",
    description = "Benchmarks, each against a baseline measured in the same run.",
    scope = ScopeType.INHERIT,
    mixinStandardHelpOptions = true,
    exitCodeOnInvalidInput = Main.EXIT_USAGE,
    exitCodeOnExecutionException = Main.EXIT_FAILURE,
    subcommands = {
      PoolCommand.class,
      RegisterCommand.class,
      LatencyCommand.class,
      ThroughputCommand.class,
      CpuCommand.class,
      BatchCommand.class,
      VerbsCommand.class,
      MonitorCommand.class
    })
public final class Main {
  static final int EXIT_USAGE = 64;
  static final int EXIT_FAILURE = 70;

  private Main() {}

  /** Runs a benchmark and ends the process with its exit status. */
  public static void main(String[] args) {
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    int status =
        new CommandLine(new Main())
            .setOut(out)
            .setErr(err)
            .setUsageHelpWidth(100)
            .setExecutionExceptionHandler(
                (failure, command, parsed) -> {
                  if (failure instanceof Rdma4jException
                      || failure instanceof LinuxException
                      || failure instanceof IOException) {
                    err.println("rdma4j bench: " + failure.getMessage());
                  } else {
                    failure.printStackTrace(err);
                  }
                  return EXIT_FAILURE;
                })
            .execute(args);
    out.flush();
    err.flush();
    System.exit(status);
  }
}
