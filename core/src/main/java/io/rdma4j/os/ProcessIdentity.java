package io.rdma4j.os;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A process of this machine, told apart from a later one with the same number.
 *
 * @param pid number in this process's pid namespace
 * @param startTicks clock ticks between boot and the start of the process (proc(5), stat, field 22)
 */
public record ProcessIdentity(long pid, long startTicks) {
  private static final int STATE_AFTER_NAME = 0;
  private static final int START_TICKS_AFTER_NAME = 19;

  /** Returns this process. */
  public static ProcessIdentity current() throws IOException {
    long pid = ProcessHandle.current().pid();
    return new ProcessIdentity(pid, Long.parseLong(stat(pid)[START_TICKS_AFTER_NAME]));
  }

  /**
   * Returns whether the process still runs. A zombie does not.
   *
   * @throws IOException when /proc cannot tell
   */
  public boolean isAlive() throws IOException {
    try {
      String[] fields = stat(pid);
      String state = fields[STATE_AFTER_NAME];
      return Long.parseLong(fields[START_TICKS_AFTER_NAME]) == startTicks
          && !state.equals("Z")
          && !state.equals("X");
    } catch (IOException e) {
      if (Files.notExists(Path.of("/proc", Long.toString(pid)))) {
        return false;
      }
      throw e;
    }
  }

  /** Returns the fields after the process name, which may itself hold blanks and parentheses. */
  private static String[] stat(long pid) throws IOException {
    String line = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
    String[] fields = line.substring(line.lastIndexOf(')') + 1).strip().split(" ", -1);
    if (fields.length <= START_TICKS_AFTER_NAME) {
      throw new IOException("/proc/" + pid + "/stat has an unknown form: " + line);
    }
    return fields;
  }
}
