package io.rdma4j.tools.doctor;

import io.rdma4j.host.CgroupReport;
import io.rdma4j.host.CounterDelta;
import io.rdma4j.host.CounterSignal;
import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.GidReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.HugePagesReport;
import io.rdma4j.host.LibraryReport;
import io.rdma4j.host.LimitsReport;
import io.rdma4j.host.NumaNodeReport;
import io.rdma4j.host.PortReport;
import io.rdma4j.tools.doctor.Diagnosis.Verdict;
import io.rdma4j.tools.doctor.Finding.Severity;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Prints a diagnosis for people: devices, limits, libraries, then the findings. */
final class DiagnosisText {
  private static final int WIDTH = 100;

  /** A real RoCE port fills dozens of slots; JSON has them all. */
  private static final int GIDS_SHOWN = 6;

  private static final String UNKNOWN = "unknown";
  private static final Pattern CONTROL = Pattern.compile("\\p{Cntrl}");

  private final PrintWriter out;
  private final boolean colour;

  DiagnosisText(PrintWriter out, boolean colour) {
    this.out = out;
    this.colour = colour;
  }

  void print(Diagnosis diagnosis) {
    out.println(headline(diagnosis));
    heading("Devices");
    if (diagnosis.verdicts().isEmpty()) {
      out.println("  none");
    }
    diagnosis.verdicts().forEach(this::printDevice);
    heading("Limits and memory");
    printLimits(diagnosis.host());
    heading("Libraries and kernel");
    printLibraries(diagnosis.host());
    if (diagnosis.comparison() != null) {
      printComparison(diagnosis.comparison());
    }
    heading("Findings");
    if (diagnosis.findings().isEmpty()) {
      out.println("  none");
    }
    diagnosis.findings().forEach(this::printFinding);
  }

  private void printComparison(Comparison comparison) {
    Double seconds = comparison.seconds();
    heading(
        "Between the readings"
            + (seconds == null ? "" : String.format(Locale.ROOT, " (%.1f s)", seconds)));
    if (comparison.deltas().isEmpty()) {
      out.println("  no port has counters in both");
    }
    for (CounterDelta delta : comparison.deltas()) {
      row(
          delta.device() + (delta.port() == 0 ? "" : " port " + delta.port()),
          "sent "
              + bytes(delta.increase(CounterSignal.SENT_BYTES), seconds)
              + ", received "
              + bytes(delta.increase(CounterSignal.RECEIVED_BYTES), seconds));
    }
  }

  private static String bytes(OptionalLong count, @Nullable Double seconds) {
    if (count.isEmpty()) {
      return UNKNOWN;
    }
    String text = Sizes.format(count.getAsLong());
    return seconds == null || seconds <= 0
        ? text
        : text
            + String.format(Locale.ROOT, " (%.3f MB/s)", count.getAsLong() / seconds / 1_000_000);
  }

  private String headline(Diagnosis diagnosis) {
    long usable = diagnosis.usableDevices();
    int all = diagnosis.verdicts().size();
    String count =
        all == 0
            ? "no RDMA device"
            : usable + " of " + all + (all == 1 ? " device" : " devices") + " usable";
    String verdict =
        switch (diagnosis.exitStatus()) {
          case Diagnosis.EXIT_USABLE -> paint(Ansi.GREEN, "RDMA can be used");
          case Diagnosis.EXIT_WARNINGS -> paint(Ansi.YELLOW, "RDMA can be used, with warnings");
          default -> paint(Ansi.RED, "RDMA cannot be used");
        };
    return (diagnosis.host().live() ? "This machine: " : "This tree: ") + verdict + ": " + count;
  }

  private void printDevice(Verdict verdict) {
    DeviceReport device = verdict.device();
    String mark =
        verdict.usable() ? paint(Ansi.GREEN, "usable    ") : paint(Ansi.RED, "not usable");
    out.printf(
        "  %-14s %s  %-10s  NUMA node %-7s  firmware %s%s%n",
        shown(device.name()),
        mark,
        device.transport() == null ? UNKNOWN : device.transport().label(),
        orUnknown(device.numaNode()),
        orUnknown(device.firmware()),
        device.model() == null ? "" : "  " + shown(device.model()));
    verdict.reasons().forEach(reason -> wrapped("      ", "because ", reason));
    device.ports().forEach(port -> printPort(port, verdict.usable()));
  }

  private void printPort(PortReport port, boolean usable) {
    out.printf(
        "      port %-3d %-8s  %-10s  %s  MTU %s%n",
        port.number(),
        orUnknown(port.state()),
        orUnknown(port.linkLayer()),
        orUnknown(port.rate()),
        port.mtuBytes() == null ? UNKNOWN : port.mtuBytes() + " (" + port.mtuSource() + ")");
    List<GidReport> gids = port.gids();
    for (int i = 0; i < gids.size(); i++) {
      boolean recommended = gids.get(i).equals(port.recommendedGid());
      // The recommended entry is shown even when it lies beyond the first few.
      if (i < GIDS_SHOWN || recommended) {
        printGid(gids.get(i), usable && recommended);
      }
    }
    if (gids.size() > GIDS_SHOWN) {
      out.printf("        %d GIDs in all; --json lists them%n", gids.size());
    }
  }

  private void printGid(GidReport gid, boolean recommended) {
    String line =
        String.format(
            "        gid %-3d %-10s  %-39s  %-15s %s",
            gid.index(),
            gid.type() == null ? UNKNOWN : gid.type().label(),
            gid.gid(),
            gid.ipv4() == null ? "" : gid.ipv4(),
            gid.netdev() == null ? "" : shown(gid.netdev()));
    out.println(line.stripTrailing() + (recommended ? paint(Ansi.BOLD, "  <- use this") : ""));
  }

  private void printLimits(HostReport host) {
    LimitsReport limits = host.limits();
    String soft = limit(limits.memlockBytes());
    boolean limited =
        limits.memlockBytes() != null && limits.memlockBytes() != LimitsReport.UNLIMITED;
    boolean lifted = limited && Boolean.TRUE.equals(limits.ipcLock());
    row(
        "locked memory",
        soft
            + " (hard limit "
            + limit(limits.memlockHardBytes())
            + ")"
            + (lifted ? ", lifted by CAP_IPC_LOCK" : ""));
    List<HugePagesReport.Pool> pools = host.hugePages().pools();
    row(
        "huge pages",
        pools == null
            ? UNKNOWN
            : pools.stream()
                .map(
                    p ->
                        Sizes.format(p.pageBytes())
                            + ": "
                            + orUnknown(p.free())
                            + " free of "
                            + orUnknown(p.total()))
                .collect(Collectors.joining(", ")));
    row("transparent", orUnknown(host.hugePages().transparent()));
    row("NUMA nodes", host.numaNodes() == null ? UNKNOWN : describe(host.numaNodes()));
    row("open files", limits.openFiles() == null ? UNKNOWN : count(limits.openFiles()));
    row("control group", describe(host.cgroup()));
  }

  private static String describe(List<NumaNodeReport> nodes) {
    String empty =
        nodes.stream()
            .filter(node -> !node.hasMemory())
            .map(node -> Integer.toString(node.id()))
            .collect(Collectors.joining(", "));
    return nodes.size() + (empty.isEmpty() ? "" : ", without memory: " + empty);
  }

  private static String describe(CgroupReport cgroup) {
    if (cgroup.version() == null) {
      return UNKNOWN;
    }
    String quotas =
        cgroup.rdma().stream()
            .map(
                q ->
                    String.format(
                        "%s %d of %s handles, %d of %s objects",
                        q.device(),
                        q.usedHandles(),
                        count(q.maxHandles()),
                        q.usedObjects(),
                        count(q.maxObjects())))
            .collect(Collectors.joining("; "));
    return "version "
        + cgroup.version()
        + ", memory "
        + limit(cgroup.memoryMaxBytes())
        + (quotas.isEmpty() ? "" : "; " + quotas);
  }

  private static String count(long limit) {
    return limit == LimitsReport.UNLIMITED ? "unlimited" : Long.toString(limit);
  }

  private void printLibraries(HostReport host) {
    for (LibraryReport library : host.libraries()) {
      if (library.kind() == LibraryReport.Kind.CORE) {
        String version = library.version() == null ? "" : " (" + library.version() + ")";
        Boolean found = library.found();
        row(
            library.name(),
            found == null
                ? UNKNOWN
                : found ? library.path() + version : paint(Ansi.RED, "missing"));
      }
    }
    String providers =
        host.libraries().stream()
            .filter(library -> library.kind() == LibraryReport.Kind.PROVIDER)
            .map(LibraryReport::name)
            .distinct()
            .collect(Collectors.joining(" "));
    boolean known = host.libraries().stream().anyMatch(library -> library.found() != null);
    row("providers", !known ? UNKNOWN : providers.isEmpty() ? "none" : providers);
    row("kernel modules", listOrUnknown(host.kernelModules()));
    row("/dev/infiniband", listOrUnknown(host.deviceNodes()));
  }

  private void printFinding(Finding finding) {
    String label = String.format("%-7s", finding.severity().label());
    String tint =
        finding.severity() == Severity.ERROR
            ? Ansi.RED
            : finding.severity() == Severity.WARNING ? Ansi.YELLOW : Ansi.BOLD;
    out.println("  " + paint(tint, label) + "  " + finding.id());
    wrapped("           ", "", finding.text());
    wrapped("           ", "seen: ", finding.evidence());
    if (!finding.nextStep().isEmpty()) {
      wrapped("           ", "next: ", finding.nextStep());
    }
  }

  private void heading(String text) {
    out.println();
    out.println(paint(Ansi.BOLD, text));
  }

  private void row(String label, String value) {
    wrapped("  ", String.format("%-18s", label) + (label.length() < 18 ? "" : " "), value);
  }

  /** Breaks lines between words; those after the first are indented past the label. */
  private void wrapped(String indent, String label, String text) {
    StringBuilder line = new StringBuilder(indent).append(shown(label));
    String hanging = indent + " ".repeat(label.length());
    boolean atStart = true;
    for (String word : shown(text).split(" ", -1)) {
      if (!atStart && line.length() + 1 + word.length() > WIDTH) {
        out.println(line);
        line = new StringBuilder(hanging);
        atStart = true;
      }
      line.append(atStart ? "" : " ").append(word);
      atStart = false;
    }
    out.println(line);
  }

  private static String limit(@Nullable Long bytes) {
    if (bytes == null) {
      return UNKNOWN;
    }
    return bytes == LimitsReport.UNLIMITED ? "unlimited" : Sizes.format(bytes);
  }

  private static String listOrUnknown(@Nullable List<String> names) {
    return names == null ? UNKNOWN : names.isEmpty() ? "none" : String.join(" ", names);
  }

  private static String orUnknown(@Nullable Object value) {
    return value == null ? UNKNOWN : shown(value.toString());
  }

  /** Names come from files of another machine: what would move a terminal's cursor is spelt out. */
  private static String shown(String text) {
    return CONTROL
        .matcher(text)
        .replaceAll(found -> String.format("<%02x>", (int) found.group().charAt(0)));
  }

  private String paint(String code, String text) {
    return colour ? code + text + Ansi.RESET : text;
  }

  /** Escape sequences of ECMA-48. */
  private static final class Ansi {
    static final String BOLD = "\u001b[1m";
    static final String RED = "\u001b[31m";
    static final String GREEN = "\u001b[32m";
    static final String YELLOW = "\u001b[33m";
    static final String RESET = "\u001b[0m";

    private Ansi() {}
  }
}
