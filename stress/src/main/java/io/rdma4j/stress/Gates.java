package io.rdma4j.stress;

import io.rdma4j.Availability;
import io.rdma4j.stress.HotLoop.Face;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * Holds the hot paths to exact figures, none of which is a time: instructions and atomic operations
 * of an allocation with its release, of a message over shared memory, of a round trip over verbs,
 * bytes allocated, calls that were not inlined.
 *
 * <pre>
 *  usage: Gates DIRECTORY
 * </pre>
 *
 * <p>Instructions are counted by valgrind, on x86-64. The profiles go to the directory.
 */
public final class Gates {
  /** How many more instructions than on record are let through. */
  private static final double TOLERANCE = 1.10;

  /** What surrounds the operations runs outside of compiled code and does not repeat exactly. */
  private static final double MOST_OTHER = 1;

  /** Below this many bytes an operation allocated nothing; the rest is the virtual machine's. */
  private static final double NO_BYTES = 0.05;

  /**
   * What was measured when the path was last changed on purpose.
   *
   * @param instructions of one allocation with its release, of one message sent and polled, of one
   *     round trip over verbs with what the device of the gate does
   * @param atomics those of them that lock memory, exactly
   * @param other instructions outside of compiled code: the virtual machine's own copying of memory
   */
  private record Figures(int instructions, int atomics, int other) {
    Figures(int instructions, int atomics) {
      this(instructions, atomics, 0);
    }
  }

  /**
   * Virtual threads hold a stripe twice and end the lease by compare-and-set: three atomics. That
   * they are seen shows that the zeros are none for want of looking.
   */
  private static final Map<Face, Figures> RECORDS =
      new EnumMap<>(
          Map.of(
              Face.LEASE, new Figures(90, 0),
              Face.VIEW, new Figures(68, 0),
              Face.HANDLE, new Figures(194, 0),
              Face.VIRTUAL, new Figures(364, 3),
              Face.SHM, new Figures(509, 0),
              Face.SHM512, new Figures(677, 0, 51),
              Face.VERBS, new Figures(3690, 4)));

  private int failures;

  private Gates() {}

  /** Measures and judges; ends the process with 1 when a gate does not hold. */
  public static void main(String[] args) throws Exception {
    Path directory = Files.createDirectories(Path.of(args[0]));
    Gates gates = new Gates();
    gates.allocation();
    gates.inlining(directory);
    gates.instructions(directory);
    System.out.printf("gates: %d failed; profiles are in %s%n", gates.failures, directory);
    System.exit(gates.failures == 0 ? 0 : 1);
  }

  private void check(boolean holds, String format, Object... values) {
    failures += holds ? 0 : 1;
    System.out.printf("%-6s %s%n", holds ? "holds" : "FAILED", format.formatted(values));
  }

  private void allocation() throws InterruptedException {
    for (Face face : Face.values()) {
      double bytes = AllocationGate.bytes(face);
      check(bytes < NO_BYTES, "%-8s %8.3f bytes allocated, at most 0", face, bytes);
    }
    double bytes = AllocationGate.foreignBytes();
    check(bytes < NO_BYTES, "%-8s %8.3f bytes allocated, at most 0", "FOREIGN", bytes);
  }

  private void inlining(Path directory) throws Exception {
    List<String> missed = InliningGate.failures(directory);
    check(
        missed.isEmpty(),
        "all of the hot path is inlined into %d methods %s",
        InliningGate.hotMethods(),
        missed);
  }

  private void instructions(Path directory) throws Exception {
    Availability callgrind = Callgrind.availability();
    if (!callgrind.usable()) {
      System.out.println("SKIPPED instructions and atomic operations: " + callgrind.reason());
      return;
    }
    Map<Face, Callgrind.Cost> costs = new Callgrind(directory).run();
    RECORDS.forEach(
        (face, figures) -> {
          Callgrind.Cost cost = Objects.requireNonNull(costs.get(face));
          double most = figures.instructions * TOLERANCE;
          check(
              cost.compiled() <= most,
              "%-8s %8.2f instructions, at most %.1f",
              face,
              cost.compiled(),
              most);
          check(
              Math.abs(cost.atomics() - figures.atomics) < 0.001,
              "%-8s %8.3f atomic operations, exactly %d",
              face,
              cost.atomics(),
              figures.atomics);
          double mostOther = figures.other * TOLERANCE + MOST_OTHER;
          check(
              Math.abs(cost.other()) < mostOther,
              "%-8s %8.3f instructions outside of compiled code, less than %.0f",
              face,
              cost.other(),
              mostOther);
        });
  }
}
