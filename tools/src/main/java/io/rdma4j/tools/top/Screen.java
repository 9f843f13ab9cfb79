package io.rdma4j.tools.top;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The terminal's other screen, which is left as it was found: at {@link #close}, and when the
 * process ends by a signal.
 *
 * <p>A frame is drawn over the last one, in one write, so that nothing flickers. Thread-safe.
 */
final class Screen implements AutoCloseable {
  private static final String ENTER = "\033[?1049h\033[?25l\033[2J";
  private static final String LEAVE = "\033[?25h\033[?1049l";
  private static final String HOME = "\033[H";
  private static final String CLEAR_REST_OF_LINE = "\033[K";
  private static final String CLEAR_BELOW = "\033[J";
  private static final int DEFAULT_COLUMNS = 80;
  private static final int DEFAULT_ROWS = 24;
  private static final long LOOK_NS = 1_000_000_000;

  /** Columns and rows of a terminal. */
  record Size(int columns, int rows) {}

  private final Thread hook = new Thread(this::leave, "rdma4j-screen");
  private Size size;
  private long lookedNs;
  private boolean left;

  /** Enters the other screen. */
  Screen() {
    this.size = look();
    this.lookedNs = System.nanoTime();
    Runtime.getRuntime().addShutdownHook(hook);
    System.out.print(ENTER);
    System.out.flush();
  }

  synchronized void draw(List<String> lines) {
    if (left) {
      return;
    }
    StringBuilder frame = new StringBuilder(HOME);
    for (int i = 0; i < lines.size(); i++) {
      frame.append(i == 0 ? "" : "\r\n").append(lines.get(i)).append(CLEAR_REST_OF_LINE);
    }
    frame.append(CLEAR_BELOW);
    System.out.writeBytes(frame.toString().getBytes(StandardCharsets.UTF_8));
    System.out.flush();
  }

  /** Returns the size, looked up once a second. */
  Size size() {
    long nowNs = System.nanoTime();
    if (nowNs - lookedNs >= LOOK_NS) {
      lookedNs = nowNs;
      size = look();
    }
    return size;
  }

  /** Asks stty(1), since Java does not know; the default when it does not know either. */
  private static Size look() {
    try {
      Process stty =
          new ProcessBuilder("stty", "size")
              .redirectInput(ProcessBuilder.Redirect.INHERIT)
              .redirectError(ProcessBuilder.Redirect.DISCARD)
              .start();
      try (var answer = stty.getInputStream()) {
        String[] words =
            new String(answer.readAllBytes(), StandardCharsets.US_ASCII).trim().split(" ", -1);
        if (stty.waitFor(1, TimeUnit.SECONDS) && words.length == 2) {
          int rows = Integer.parseInt(words[0]);
          int columns = Integer.parseInt(words[1]);
          if (rows > 0 && columns > 0) {
            return new Size(columns, rows);
          }
        }
      }
    } catch (IOException | NumberFormatException e) {
      // No stty, or not what it prints: the default is as good a guess as any.
      return new Size(DEFAULT_COLUMNS, DEFAULT_ROWS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return new Size(DEFAULT_COLUMNS, DEFAULT_ROWS);
  }

  private synchronized void leave() {
    if (!left) {
      left = true;
      System.out.print(LEAVE);
      System.out.flush();
    }
  }

  @Override
  public void close() {
    leave();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // The process is ending, and the hook runs or has run: nothing is left to do.
      return;
    }
  }
}
