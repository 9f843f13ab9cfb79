package io.rdma4j.bench.register;

import io.rdma4j.Availability;
import io.rdma4j.bench.DeviceRegistrar;
import io.rdma4j.bench.Json;
import io.rdma4j.bench.Machine;
import io.rdma4j.bench.OutputFile;
import io.rdma4j.bench.Progress;
import io.rdma4j.bench.Ratio;
import io.rdma4j.bench.Series;
import io.rdma4j.bench.natives.FixedBuffers;
import io.rdma4j.provider.MemoryRegistrar;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Times the registration of a large piece of memory. */
@Command(
    name = "register",
    description = "The time until a large piece of memory is ready for a device.")
public final class RegisterCommand implements Callable<Integer> {
  private static final long MAX_SEGMENT_BYTES = 1L << 30;
  private static final String PLAIN = "plain";

  @Spec private CommandSpec spec;

  @Option(
      names = "--bytes",
      paramLabel = "SIZE",
      defaultValue = "1g",
      converter = ByteCount.class,
      description = "Memory to prepare: whole megabytes, with m or g. Default: ${DEFAULT-VALUE}.")
  private long lengthBytes;

  @Option(
      names = "--segment",
      paramLabel = "SIZE",
      defaultValue = "64m",
      converter = ByteCount.class,
      description = "What is registered at once, in segments. Default: ${DEFAULT-VALUE}.")
  private long segmentBytes;

  @Option(
      names = "--rounds",
      paramLabel = "N",
      defaultValue = "5",
      description = "Rounds that count, ${DEFAULT-VALUE} by default and at least.")
  private int rounds;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      converter = OutputFile.class,
      description = "Write the result there as well.")
  private @Nullable Path json;

  /** Created by picocli. */
  @SuppressWarnings("NullAway.Init") // picocli fills spec before it calls
  public RegisterCommand() {}

  @Override
  public Integer call() throws IOException {
    check(rounds >= 5, "--rounds must be 5 or more, was " + rounds);
    check(
        lengthBytes % RawRange.HUGE_PAGE_BYTES == 0 && segmentBytes % RawRange.HUGE_PAGE_BYTES == 0,
        "--bytes and --segment must be multiples of 2m");
    long availableBytes = Machine.availableMemoryBytes();
    check(
        lengthBytes <= availableBytes / 2,
        "--bytes is %d, which is more than half of the %d bytes that are free here"
            .formatted(lengthBytes, availableBytes));
    try (DeviceRegistrar device = new DeviceRegistrar()) {
      Availability pin = FixedBuffers.availability();
      if (device.availability().usable()) {
        report(device);
      } else if (pin.usable()) {
        report(new PinRegistrar());
      } else {
        throw new IOException(device.availability().reason() + "; " + pin.reason());
      }
      return 0;
    }
  }

  private void check(boolean valid, String complaint) {
    if (!valid) {
      throw new ParameterException(spec.commandLine(), complaint);
    }
  }

  private void report(MemoryRegistrar registrar) throws IOException {
    int processors = Runtime.getRuntime().availableProcessors();
    List<Preparation> ways =
        List.of(
            new PlainPreparation(),
            new PoolPreparation("huge", Math.min(lengthBytes, MAX_SEGMENT_BYTES), 1),
            new PoolPreparation("segmented", segmentBytes, processors));
    Map<String, Object> machine = Machine.facts();
    Map<String, RegisterRace.Times> times =
        new RegisterRace(ways, registrar, lengthBytes, new Progress()).run(rounds);
    Map<String, Series> rows = new LinkedHashMap<>();
    times.forEach((name, row) -> rows.put(name, row.allReady()));
    times.forEach((name, row) -> rows.put(name + "_first", row.firstReady()));
    Series plain = find(rows, PLAIN);
    Map<String, Ratio> ratios = new LinkedHashMap<>();
    ratios.put("register_vs_plain", Ratio.of(plain, find(rows, "segmented")));
    ratios.put("register_first_vs_plain", Ratio.of(plain, find(rows, "segmented_first")));
    ratios.put("register_huge_vs_plain", Ratio.of(plain, find(rows, "huge")));
    print(registrar, rows, ratios);
    if (json != null) {
      Map<String, Object> root = new LinkedHashMap<>();
      Json.putRatios(root, ratios);
      root.put("bytes", lengthBytes);
      root.put("segmentBytes", segmentBytes);
      root.put("threads", processors);
      root.put("registrar", registrar.name());
      root.put("machine", machine);
      List<Map<String, Object>> rowObjects = new ArrayList<>();
      rows.forEach((name, series) -> rowObjects.add(Json.row(name, series)));
      root.put("rows", rowObjects);
      Json.write(json, root);
    }
  }

  private static Series find(Map<String, Series> rows, String name) {
    Series series = rows.get(name);
    if (series == null) {
      throw new IllegalStateException(name + " was not measured, only " + rows.keySet());
    }
    return series;
  }

  private void print(
      MemoryRegistrar registrar, Map<String, Series> rows, Map<String, Ratio> ratios) {
    PrintWriter out = spec.commandLine().getOut();
    out.printf(Locale.ROOT, "%d MiB, registered with %s%n", lengthBytes >> 20, registrar.name());
    out.printf(Locale.ROOT, "%-26s %10s %10s%n", "ready", "min ms", "median ms");
    rows.forEach(
        (name, series) ->
            out.printf(
                Locale.ROOT,
                "%-26s %10.2f %10.2f%n",
                name,
                series.minNs() / 1e6,
                series.medianNs() / 1e6));
    ratios.forEach(
        (key, ratio) ->
            out.printf(
                Locale.ROOT,
                "%-26s %.1fx (%.1f to %.1f)%n",
                key,
                ratio.median(),
                ratio.min(),
                ratio.max()));
    out.flush();
  }
}
