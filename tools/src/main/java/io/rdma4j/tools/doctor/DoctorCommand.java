package io.rdma4j.tools.doctor;

import io.rdma4j.host.HostReport;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
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
  @Spec private @Nullable CommandSpec spec;

  @Option(names = "--json", description = "Print one JSON object.")
  private boolean json;

  @Option(
      names = "--root",
      paramLabel = "DIR",
      description =
          "Read sys, proc, dev, etc and usr below DIR, a tree copied from another machine. Nothing"
              + " of this machine enters the answer; what DIR lacks is unknown.")
  private Path root = Path.of("/");

  /** Created by picocli. */
  DoctorCommand() {}

  @Override
  public Integer call() throws IOException {
    CommandSpec command = Objects.requireNonNull(spec, "spec");
    if (!Files.isDirectory(root)) {
      throw new ParameterException(
          command.commandLine(),
          "--root " + root + " is not a directory; name the folder that holds the copied sys/");
    }
    Diagnosis diagnosis = Diagnosis.of(HostReport.read(root));
    PrintWriter out = command.commandLine().getOut();
    if (json) {
      out.println(DiagnosisJson.render(diagnosis));
    } else {
      boolean colour = command.commandLine().getColorScheme().ansi().enabled();
      new DiagnosisText(out, colour).print(diagnosis);
    }
    out.flush();
    return diagnosis.exitStatus();
  }
}
