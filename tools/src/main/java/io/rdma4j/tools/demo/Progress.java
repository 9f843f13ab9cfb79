package io.rdma4j.tools.demo;

import io.rdma4j.tools.Terminal;
import java.util.Locale;

/** A line that shows what runs now; on a terminal only. Single thread only. */
final class Progress {
  private static final long INTERVAL_NS = 200_000_000L;

  private final boolean shown;
  private final boolean announced;
  private String label = "";
  private long lastNs;
  private long lastCount;
  private boolean dirty;

  /**
   * Creates the display.
   *
   * @param announced says each phase on a line of its own, for scripts
   */
  Progress(boolean announced) {
    this.announced = announced;
    shown = !announced && Terminal.isPresent();
  }

  void phase(String name, String phase) {
    label = String.format(Locale.ROOT, "%-12s %-12s", name, phase);
    lastNs = 0;
    show(label);
    if (announced) {
      System.out.println(label);
    }
  }

  void note(String text) {
    show(text);
  }

  /** Shows the rate, at most five times a second. */
  void tick(long nowNs, long count) {
    if (!shown || nowNs - lastNs < INTERVAL_NS) {
      return;
    }
    if (lastNs != 0) {
      double perSecond = (count - lastCount) * 1e9 / (nowNs - lastNs);
      show(String.format(Locale.ROOT, "%s %,14.0f messages/s", label, perSecond));
    }
    lastNs = nowNs;
    lastCount = count;
  }

  void clear() {
    if (dirty) {
      System.err.print("\r\033[K");
      System.err.flush();
      dirty = false;
    }
  }

  private void show(String text) {
    if (shown) {
      System.err.print("\r\033[K" + text);
      System.err.flush();
      dirty = true;
    }
  }
}
