package io.rdma4j.host;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads the limits of the process behind {@code /proc/self}. */
final class LimitsReader {
  private static final String LIMITS = "/proc/self/limits";
  private static final String STATUS = "/proc/self/status";
  private static final String UID_MAP = "/proc/self/uid_map";

  /** CAP_IPC_LOCK in capabilities(7). */
  private static final int IPC_LOCK_BIT = 14;

  private static final Pattern MEMLOCK =
      Pattern.compile("^Max locked memory +(\\S+) +(\\S+)", Pattern.MULTILINE);
  private static final Pattern OPEN_FILES =
      Pattern.compile("^Max open files +(\\S+) +", Pattern.MULTILINE);
  private static final Pattern CAPABILITIES =
      Pattern.compile("^CapEff:\\s*([0-9a-fA-F]{1,16})$", Pattern.MULTILINE);

  private LimitsReader() {}

  static LimitsReport read(Probe probe) {
    Long soft = null;
    Long hard = null;
    Long openFiles = null;
    String limits = probe.text(LIMITS);
    if (limits != null) {
      Matcher row = MEMLOCK.matcher(limits);
      if (row.find()) {
        soft = limit(probe, row.group(1));
        hard = limit(probe, row.group(2));
      } else {
        probe.report(LIMITS, "no row 'Max locked memory'");
      }
      Matcher files = OPEN_FILES.matcher(limits);
      openFiles = files.find() ? limit(probe, files.group(1)) : null;
    }
    return new LimitsReport(soft, hard, ipcLock(probe), openFiles);
  }

  private static @Nullable Long limit(Probe probe, String text) {
    return text.equals("unlimited")
        ? Long.valueOf(LimitsReport.UNLIMITED)
        : probe.parse(LIMITS, text);
  }

  /**
   * The capability counts in the initial user namespace only, so a rootless container that lists it
   * is still held to the limit.
   */
  private static @Nullable Boolean ipcLock(Probe probe) {
    String status = probe.text(STATUS);
    Matcher row = status == null ? null : CAPABILITIES.matcher(status);
    if (row == null || !row.find()) {
      return null;
    }
    boolean effective = (Long.parseUnsignedLong(row.group(1), 16) >>> IPC_LOCK_BIT & 1) == 1;
    String uidMap = probe.text(UID_MAP);
    boolean initialNamespace =
        uidMap == null || uidMap.replaceAll("\\s+", " ").strip().equals("0 0 4294967295");
    return effective && initialNamespace;
  }
}
