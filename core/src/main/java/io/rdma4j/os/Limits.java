package io.rdma4j.os;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A process's limit on locked memory (RLIMIT_MEMLOCK), which the kernel charges with every page of
 * every registration.
 *
 * @param softBytes the limit in force, {@link #UNLIMITED} when there is none
 * @param hardBytes how far the process itself may raise it, {@link #UNLIMITED} likewise
 * @param source where the values come from, for messages
 */
public record Limits(long softBytes, long hardBytes, String source) {
  /** Stands for the absence of a limit; greater than any number of bytes. */
  public static final long UNLIMITED = Long.MAX_VALUE;

  private static final String PROC_LIMITS = "/proc/self/limits";

  /**
   * One row of the kernel's table. Columns are padded with blanks, names hold single blanks, and
   * the unit of some rows is empty, so a row is its name, then two values.
   */
  private static final Pattern LOCKED_MEMORY =
      Pattern.compile("^Max locked memory\\s+(unlimited|\\d+)\\s+(unlimited|\\d+)(\\s.*)?$");

  /** Returns the limit recorded under {@code root}, empty when there is no readable record. */
  public static Optional<Limits> lockedMemory(SystemRoot root) {
    for (String row : root.readLines(PROC_LIMITS)) {
      Matcher matcher = LOCKED_MEMORY.matcher(row);
      if (matcher.matches()) {
        return Optional.of(
            new Limits(
                parse(String.valueOf(matcher.group(1))),
                parse(String.valueOf(matcher.group(2))),
                PROC_LIMITS));
      }
    }
    return Optional.empty();
  }

  /** Returns the limit of this very process, asked of the kernel. */
  public static Limits ofThisProcess() {
    long[] limits = new long[2];
    int result = LibC.lockedMemoryLimit(limits);
    if (result < 0) {
      throw new OsException("getrlimit", "RLIMIT_MEMLOCK", -result, "");
    }
    return new Limits(orUnlimited(limits[0]), orUnlimited(limits[1]), "getrlimit");
  }

  /** RLIM_INFINITY is all ones, and anything above Long.MAX_VALUE is no limit either. */
  private static long orUnlimited(long bytes) {
    return bytes < 0 ? UNLIMITED : bytes;
  }

  private static long parse(String value) {
    if (value.equals("unlimited")) {
      return UNLIMITED;
    }
    // 19 digits fit; the kernel's own "unlimited" is spelled out, so more would be nonsense.
    return value.length() > 18 ? UNLIMITED : Long.parseLong(value);
  }

  /** Returns true when no limit is in force. */
  public boolean isUnlimited() {
    return softBytes == UNLIMITED;
  }

  /** Returns the limit as a clause, for example {@code 8388608 bytes (hard: unlimited)}. */
  public String describe() {
    return "%s (hard: %s, from %s)".formatted(text(softBytes), text(hardBytes), source);
  }

  private static String text(long bytes) {
    return bytes == UNLIMITED ? "unlimited" : bytes + " bytes";
  }
}
