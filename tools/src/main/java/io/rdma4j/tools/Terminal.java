package io.rdma4j.tools;

import java.io.Console;

/** Whether a person is watching. */
public final class Terminal {
  private Terminal() {}

  /** Returns true when input and output are a terminal, so that progress and colour make sense. */
  @SuppressWarnings("SystemConsoleNull") // null without a terminal unless the JDK's console answers
  public static boolean isPresent() {
    Console console = System.console();
    return console != null && console.isTerminal();
  }
}
