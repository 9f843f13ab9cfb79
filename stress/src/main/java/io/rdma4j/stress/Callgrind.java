package io.rdma4j.stress;

import io.rdma4j.Availability;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Runs {@link HotLoop} under valgrind's callgrind, which counts each instruction that is executed,
 * by its address.
 *
 * <p>Callgrind writes a profile and starts from zero at each call of a function that the loop calls
 * as a mark. So what a face executes between two marks is known exactly, and the difference of two
 * runs of different length is what the operations alone executed: what surrounds them is the same.
 */
final class Callgrind {
  /** The native half of {@link Runtime#totalMemory}, which nobody else calls. */
  static final String MARK = "Java_java_lang_Runtime_totalMemory";

  private static final long TIMEOUT_S = 540;
  private static final int OPERATIONS = 100_000;

  /** Compiled code lies in no file; nor does some that the kernel and valgrind put there. */
  private static final String NO_FILE = "ob=???";

  private final Path directory;

  Callgrind(Path directory) {
    this.directory = directory;
  }

  /**
   * What one operation executes.
   *
   * @param compiled instructions in compiled code
   * @param atomics those of them that lock memory or are fences
   * @param other instructions elsewhere: the virtual machine, libraries
   */
  record Cost(double compiled, double atomics, double other) {}

  /** Tells whether this machine can do it. */
  static Availability availability() {
    if (!System.getProperty("os.arch").equals("amd64")) {
      return Availability.unusable(
          "instructions are decoded for x86-64 only, this is " + System.getProperty("os.arch"));
    }
    boolean installed =
        Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
            .anyMatch(folder -> Files.isExecutable(Path.of(folder, "valgrind")));
    return installed
        ? Availability.usable("valgrind is installed")
        : Availability.unusable(
            "valgrind counts them and is missing; install it (for example: apt-get install"
                + " valgrind)");
  }

  /** Runs all faces. */
  Map<HotLoop.Face, Cost> run() throws IOException, InterruptedException {
    Path image = directory.resolve("code.image");
    deleteProfiles();
    execute(image);
    List<Profile> profiles = new ArrayList<>();
    // Part 1 ends at the first mark: the start and the first warm-up.
    for (int part = 1; Files.exists(part(part)); part++) {
      profiles.add(Profile.read(part(part)));
    }
    HotLoop.Face[] faces = HotLoop.Face.values();
    if (profiles.size() != 3 * faces.length) {
      throw new IllegalStateException(
          "callgrind saw %d marks, not %d; somebody else calls %s, or it was not found"
              .formatted(profiles.size(), 3 * faces.length, MARK));
    }
    CodeImage code = CodeImage.read(image);
    Map<HotLoop.Face, Cost> costs = new HashMap<>();
    for (int i = 0; i < faces.length; i++) {
      costs.put(faces[i], profiles.get(3 * i + 2).less(profiles.get(3 * i + 1), code));
    }
    return costs;
  }

  private Path prefix() {
    return directory.resolve("callgrind.out");
  }

  private Path part(int number) {
    return Path.of(prefix() + "." + number);
  }

  private void deleteProfiles() throws IOException {
    try (DirectoryStream<Path> old = Files.newDirectoryStream(directory, "callgrind.out*")) {
      for (Path file : old) {
        Files.delete(file);
      }
    }
  }

  private void execute(Path image) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.addAll(
        List.of(
            "valgrind",
            "--tool=callgrind",
            "--smc-check=all-non-file",
            // The JVM finds out by a fault that a pointer is null, and looks at registers then.
            "--vex-iropt-register-updates=allregs-at-mem-access",
            "--dump-instr=yes",
            "--compress-pos=no",
            "--compress-strings=no",
            "--dump-before=" + MARK,
            "--callgrind-out-file=" + prefix()));
    command.addAll(ChildJvm.command("-Xbatch", "-XX:-TieredCompilation"));
    command.addAll(List.of(HotLoop.class.getName(), "" + OPERATIONS, image.toString()));
    ChildJvm.run(command, directory.resolve("valgrind.log"), TIMEOUT_S);
  }

  /** Executed instructions by address where no file has them, and the number of all others. */
  private record Profile(Map<Long, Long> inNoFile, long inFiles) {
    static Profile read(Path file) {
      Reader reader = new Reader();
      try (Stream<String> lines = Files.lines(file, StandardCharsets.ISO_8859_1)) {
        lines.forEach(reader::accept);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return new Profile(reader.inNoFile, reader.inFiles);
    }

    /** Returns the cost of an operation, of which this has 2 * {@link #OPERATIONS} more. */
    Cost less(Profile shorter, CodeImage code) {
      Map<Long, Long> more = new HashMap<>(inNoFile);
      shorter.inNoFile.forEach((address, count) -> more.merge(address, -count, Long::sum));
      long compiled = 0;
      long atomics = 0;
      long other = inFiles - shorter.inFiles;
      for (Map.Entry<Long, Long> instruction : more.entrySet()) {
        long address = instruction.getKey();
        long count = instruction.getValue();
        if (code.contains(address)) {
          compiled += count;
          atomics += code.isAtomic(address) ? count : 0;
        } else {
          other += count;
        }
      }
      double operations = 2 * OPERATIONS;
      return new Cost(compiled / operations, atomics / operations, other / operations);
    }
  }

  /**
   * Reads the lines of a profile. A cost line is an address, a source line and a count; the one
   * behind "calls=" has the cost of the callee, which is listed itself.
   */
  private static final class Reader {
    final Map<Long, Long> inNoFile = new HashMap<>();
    long inFiles;
    private boolean isInNoFile;
    private boolean isCallee;

    void accept(String line) {
      if (line.startsWith("0x")) {
        if (!isCallee) {
          String[] fields = line.split(" ", 3);
          count(Long.decode(fields[0]), Long.parseLong(fields[2].strip()));
        }
        isCallee = false;
      } else if (line.startsWith("calls=")) {
        isCallee = true;
      } else if (line.startsWith("ob=")) {
        isInNoFile = line.equals(NO_FILE);
      }
    }

    private void count(long address, long executed) {
      if (isInNoFile) {
        inNoFile.merge(address, executed, Long::sum);
      } else {
        inFiles += executed;
      }
    }
  }
}
