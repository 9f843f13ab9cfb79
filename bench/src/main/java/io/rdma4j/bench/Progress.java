package io.rdma4j.bench;

import java.io.Console;

/** A line that says what runs now; on a terminal only. Single thread only. */
public final class Progress {
  private final boolean shown = isTerminal();

  /** Creates the display. */
  public Progress() {}

  @SuppressWarnings("SystemConsoleNull") // null without a terminal unless the JDK's console answers
  private static boolean isTerminal() {
    Console console = System.console();
    return console != null && console.isTerminal();
  }

  /** Shows what runs now. */
  public void show(String text) {
    if (shown) {
      System.err.print("\r\033[K" + text);
      System.err.flush();
    }
  }

  /** Clears the line. */
  public void clear() {
    show("");
  }
}
