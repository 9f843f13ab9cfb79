package io.rdma4j.tools;

import io.rdma4j.Rdma4jException;
import io.rdma4j.tools.demo.DemoCommand;
import io.rdma4j.tools.demo.DemoNodeCommand;
import io.rdma4j.tools.doctor.DoctorCommand;
import io.rdma4j.tools.journal.JournalCommand;
import io.rdma4j.tools.serve.FaultCommand;
import io.rdma4j.tools.serve.ServeCommand;
import io.rdma4j.tools.serve.ServePeerCommand;
import io.rdma4j.tools.top.TopCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.lang.module.ModuleDescriptor;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.NoSuchFileException;
import java.util.Optional;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.ScopeType;

/**
 * The {@code rdma4j} command. A subcommand is a class of its own, listed in the annotation; it
 * writes to its command line's writers and returns its exit status.
 *
 * <p>Exit status: each subcommand defines 0 to 2; {@value #EXIT_USAGE} for a wrong command line and
 * {@value #EXIT_FAILURE} for a failure, as in sysexits(3), so that neither is taken for an answer.
 */
@Command(
    name = "rdma4j",
    description = "RDMA for the JVM: command-line tools.",
    scope = ScopeType.INHERIT,
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class,
    exitCodeOnInvalidInput = Main.EXIT_USAGE,
    exitCodeOnExecutionException = Main.EXIT_FAILURE,
    subcommands = {
      DemoCommand.class,
      DemoNodeCommand.class,
      DoctorCommand.class,
      FaultCommand.class,
      JournalCommand.class,
      ServeCommand.class,
      ServePeerCommand.class,
      TopCommand.class
    })
public final class Main {
  static final int EXIT_USAGE = 64;
  static final int EXIT_FAILURE = 70;

  /** Created by picocli and by {@link #run}. */
  Main() {}

  /** Runs a subcommand and ends the process with its exit status. */
  public static void main(String[] args) {
    boolean colour = Terminal.isPresent() && System.getenv("NO_COLOR") == null;
    PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
    PrintWriter err = new PrintWriter(System.err, true, StandardCharsets.UTF_8);
    int status = run(out, err, colour, args);
    out.flush();
    err.flush();
    System.exit(status);
  }

  /**
   * Runs a subcommand.
   *
   * @param colour whether {@code out} shows ANSI colours
   * @return the exit status
   */
  static int run(PrintWriter out, PrintWriter err, boolean colour, String... args) {
    return new CommandLine(new Main())
        .setOut(out)
        .setErr(err)
        .setColorScheme(CommandLine.Help.defaultColorScheme(colour ? Ansi.ON : Ansi.OFF))
        .setUsageHelpWidth(100)
        .setParameterExceptionHandler((wrong, ignored) -> refuse(wrong))
        .setExecutionExceptionHandler(
            (failure, command, parsed) -> {
              explain(failure, command.getErr());
              return command.getCommandSpec().exitCodeOnExecutionException();
            })
        .execute(args);
  }

  /** Says what is wrong and where the options are, instead of all of them. */
  private static int refuse(CommandLine.ParameterException wrong) {
    CommandLine command = wrong.getCommandLine();
    PrintWriter err = command.getErr();
    err.println("rdma4j: " + wrong.getMessage());
    if (!CommandLine.UnmatchedArgumentException.printSuggestions(wrong, err)) {
      err.println(command.getCommandSpec().qualifiedName() + " --help shows what there is");
    }
    return command.getCommandSpec().exitCodeOnInvalidInput();
  }

  /** The library's own exceptions say what to do; any other is a defect and needs its stack. */
  private static void explain(Exception failure, PrintWriter err) {
    if (failure instanceof NoSuchFileException) {
      err.println("rdma4j: " + failure.getMessage() + ": no such file");
    } else if (failure instanceof AccessDeniedException) {
      err.println("rdma4j: " + failure.getMessage() + ": permission denied");
    } else if (failure instanceof Rdma4jException || failure instanceof IOException) {
      err.println("rdma4j: " + failure.getMessage());
    } else {
      failure.printStackTrace(err);
    }
  }

  /** Version of the module, or a note that this is not a packaged build. */
  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String version =
          Optional.ofNullable(Main.class.getModule().getDescriptor())
              .flatMap(ModuleDescriptor::rawVersion)
              .orElse("(unpackaged build)");
      return new String[] {"rdma4j " + version, "Java " + Runtime.version()};
    }
  }
}
