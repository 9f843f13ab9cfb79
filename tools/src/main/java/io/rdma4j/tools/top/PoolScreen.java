package io.rdma4j.tools.top;

import io.rdma4j.pool.HeatTable;
import io.rdma4j.tools.top.PoolSnapshot.SizeClass;
import io.rdma4j.tools.top.PoolSnapshot.Times;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Lays a pool out on a screen: a function of its arguments alone. */
final class PoolScreen {
  private static final int MOST_EVENTS = 5;
  private static final String RESET = "\033[0m";
  private static final String BOLD = "\033[1m";
  private static final String DIM = "\033[2m";

  /** How full a class's line is before its bar. */
  private static final int CLASS_COLUMNS = 73;

  private static final int SHORTEST_BAR = 10;

  /**
   * What the terminal can do.
   *
   * @param columns its width; longer lines are cut
   * @param rows its height; what does not fit is left out, the coldest slabs first
   * @param colour whether it shows ANSI colours
   * @param unicode whether it shows block characters
   */
  record Style(int columns, int rows, boolean colour, boolean unicode) {}

  /** The parts of a bar, in their order. */
  private enum Part {
    USED("\033[32m", "█", "#"),
    CACHED("\033[36m", "▓", "+"),
    FREE("\033[34m", "▒", "-"),
    PENDING("\033[33m", "░", ".");

    private final String colour;
    private final String block;
    private final String ascii;

    Part(String colour, String block, String ascii) {
      this.colour = colour;
      this.block = block;
      this.ascii = ascii;
    }

    long bytes(SizeClass sizeClass) {
      return switch (this) {
        case USED -> sizeClass.usedBytes();
        case CACHED -> sizeClass.cachedBytes();
        case FREE -> sizeClass.freeBytes();
        case PENDING -> sizeClass.pendingBytes();
      };
    }
  }

  private final Style style;
  private final List<String> lines = new ArrayList<>();

  private PoolScreen(Style style) {
    this.style = style;
  }

  /**
   * Returns the lines of one frame.
   *
   * @param title what is shown, in a few words
   * @param before an earlier snapshot, which rates are computed from
   * @param events from {@link PoolEvents}, the latest last
   */
  static List<String> lines(
      String title, PoolSnapshot before, PoolSnapshot now, List<String> events, Style style) {
    PoolScreen screen = new PoolScreen(style);
    screen.summary(title, before, now);
    screen.classes(before, now);
    screen.events(events);
    screen.heat(now);
    return screen.lines.subList(0, Math.min(screen.lines.size(), style.rows));
  }

  private void summary(String title, PoolSnapshot before, PoolSnapshot now) {
    line(BOLD, "rdma4j top   %s   %.1f s", title, now.seconds());
    line(
        "",
        "budget       %s of %s taken   registered %s   used %s   fragmentation %.2f",
        Units.bytes(now.budgetedBytes()),
        Units.bytes(now.maxBytes()),
        Units.bytes(now.sum(SizeClass::registeredBytes)),
        Units.bytes(now.sum(SizeClass::usedBytes)),
        now.fragmentation());
    line(
        "",
        "allocations  %s   from: thread cache %s, shared list %s, fallback %s   refused %d  "
            + " waiting %d   threads %d",
        Units.rate(now.perSecondSince(before, SizeClass::allocations)),
        Units.percent(now.shareSince(before, SizeClass::threadCacheHits)),
        Units.percent(now.shareSince(before, SizeClass::sharedHits)),
        Units.percent(now.shareSince(before, SizeClass::fallbacks)),
        now.exhausted(),
        now.sum(SizeClass::waiters),
        now.threadCaches());
    line("", "allocation   %s", times(now.allocation()));
    line("", "registration %s", times(now.registration()));
    line("", "");
  }

  private static String times(Times times) {
    if (times.count() == 0) {
      return "none timed";
    }
    return "p50 %s   p99 %s   p99.9 %s   max %s   of %,d since the start"
        .formatted(
            Units.duration(times.p50Ns()),
            Units.duration(times.p99Ns()),
            Units.duration(times.p999Ns()),
            Units.duration(times.maxNs()),
            times.count());
  }

  private void classes(PoolSnapshot before, PoolSnapshot now) {
    StringBuilder legend = new StringBuilder();
    for (Part part : Part.values()) {
      legend.append(coloured(part.colour, part(part)));
      legend.append(' ').append(part.name().toLowerCase(Locale.ROOT)).append("  ");
    }
    raw(
        bold(
                "%-9s %5s %9s %9s %9s %9s %13s   "
                    .formatted("class", "slabs", "used", "cached", "free", "pending", "alloc/s"))
            + legend);
    double passed = now.seconds() - before.seconds();
    for (int i = 0; i < now.classes().size(); i++) {
      SizeClass is = now.classes().get(i);
      long earlier = i < before.classes().size() ? before.classes().get(i).allocations() : 0;
      double rate = passed <= 0 ? 0 : Math.max(0, is.allocations() - earlier) / passed;
      raw(
          String.format(
                  Locale.ROOT,
                  "%-9s %5d %9s %9s %9s %9s %,13.0f   ",
                  (is.reserve() ? "rx " : "") + Units.bytes(is.blockBytes()),
                  is.slabs(),
                  Units.bytes(is.usedBytes()),
                  Units.bytes(is.cachedBytes()),
                  Units.bytes(is.freeBytes()),
                  Units.bytes(is.pendingBytes()),
                  rate)
              + bar(is, now.maxBytes()));
    }
    line("", "");
  }

  /** A bar as long as the class's share of the budget. */
  private String bar(SizeClass sizeClass, long maxBytes) {
    int width = Math.max(SHORTEST_BAR, style.columns - CLASS_COLUMNS);
    StringBuilder bar = new StringBuilder();
    long bytes = 0;
    int drawn = 0;
    for (Part part : Part.values()) {
      bytes += part.bytes(sizeClass);
      int end = (int) Math.min(width, Math.round((double) width * bytes / Math.max(1, maxBytes)));
      if (end > drawn) {
        bar.append(coloured(part.colour, part(part).repeat(end - drawn)));
        drawn = end;
      }
    }
    return bar.toString();
  }

  private String part(Part part) {
    return style.unicode ? part.block : part.ascii;
  }

  private void events(List<String> events) {
    line(BOLD, "events");
    int from = Math.max(0, events.size() - MOST_EVENTS);
    for (int i = 0; i < MOST_EVENTS; i++) {
      line("", "%s", from + i < events.size() ? events.get(from + i) : "");
    }
    line("", "");
  }

  private void heat(PoolSnapshot now) {
    String format = "%-16s | %-12s | %12s | %-8s | %-8s | %11s | %4s%s";
    line(
        BOLD,
        format,
        "block id",
        "last use",
        "use count",
        "state",
        "class",
        "live/blocks",
        "node",
        "");
    for (HeatTable.Row row : now.heat()) {
      String colour =
          switch (row.state()) {
            case ACTIVE -> row.liveBlocks() > 0 ? "" : DIM;
            case PENDING -> Part.PENDING.colour;
            case LEAVING -> "\033[31m";
          };
      line(
          colour,
          format,
          row.id(),
          String.format(Locale.ROOT, "%.1f s ago", row.ageSeconds()),
          String.format(Locale.ROOT, "%,d", row.uses()),
          row.state(),
          Units.bytes(row.blockBytes()),
          row.liveBlocks() + "/" + row.blocks(),
          row.node() < 0 ? "-" : Integer.toString(row.node()),
          row.fallback() ? "   fallback" : "");
    }
  }

  /** Adds a line of visible characters only, cut to the width. */
  private void line(String colour, String format, Object... values) {
    String text = String.format(Locale.ROOT, format, values);
    raw(coloured(colour, text.substring(0, Math.min(text.length(), style.columns))));
  }

  /** Adds a line that may have colours in it. */
  private void raw(String text) {
    lines.add(cut(text, style.columns));
  }

  private String bold(String text) {
    return coloured(BOLD, text);
  }

  private String coloured(String colour, String text) {
    return style.colour && !colour.isEmpty() && !text.isEmpty() ? colour + text + RESET : text;
  }

  /** Cuts after so many visible characters; what follows an escape up to its m is not visible. */
  static String cut(String text, int columns) {
    int visible = 0;
    boolean escaped = false;
    boolean coloured = false;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '\033') {
        escaped = true;
        coloured = true;
      } else if (escaped) {
        escaped = c != 'm';
      } else if (visible++ == columns) {
        return text.substring(0, i) + (coloured ? RESET : "");
      }
    }
    return text;
  }

  /** Returns one line for a log: what the frame says, in short. */
  static String plain(PoolSnapshot before, PoolSnapshot now) {
    return String.format(
        Locale.ROOT,
        "%6.1f s  registered %s  used %s  cached %s  free %s  pending %s  alloc %s  hits %s"
            + "  p50 %s  p99 %s  grown %d  revived %d  trimmed %d",
        now.seconds(),
        Units.bytes(now.sum(SizeClass::registeredBytes)),
        Units.bytes(now.sum(SizeClass::usedBytes)),
        Units.bytes(now.sum(SizeClass::cachedBytes)),
        Units.bytes(now.sum(SizeClass::freeBytes)),
        Units.bytes(now.sum(SizeClass::pendingBytes)),
        Units.rate(now.perSecondSince(before, SizeClass::allocations)),
        Units.percent(now.shareSince(before, SizeClass::threadCacheHits)),
        Units.duration(now.allocation().p50Ns()),
        Units.duration(now.allocation().p99Ns()),
        now.sum(SizeClass::growths),
        now.sum(SizeClass::revivals),
        now.sum(SizeClass::trims));
  }
}
