package io.rdma4j.bench.transport;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A line chart as SVG text, with colours from the page's variables {@code --c0} to {@code --c7}.
 *
 * @param xLabels one for each x
 * @param lines a name and one value for each x; all above 0, the scale is logarithmic
 */
record Chart(String title, String yUnit, List<String> xLabels, String xTitle, List<Line> lines) {
  /**
   * One line.
   *
   * @param colour number of its colour
   */
  record Line(String name, int colour, double[] values) {}

  private static final int WIDTH = 760;
  private static final int HEIGHT = 360;
  private static final int LEFT = 92;
  private static final int RIGHT = 130;
  private static final int TOP = 16;
  private static final int BOTTOM = 48;
  private static final double LABEL_APART = 14;

  String svg() {
    StringBuilder svg = new StringBuilder();
    int low = (int) Math.floor(Math.log10(extreme(false)) + 1e-9);
    int high = Math.max(low + 1, (int) Math.ceil(Math.log10(extreme(true)) - 1e-9));
    text(
        svg,
        "<figure><figcaption>%s</figcaption><svg viewBox='0 0 %d %d' role='img' aria-label='%s'>",
        title,
        WIDTH,
        HEIGHT,
        title);
    for (int decade = low; decade <= high; decade++) {
      double y = y(Math.pow(10, decade), low, high);
      text(svg, "<line class='grid' x1='%d' x2='%d' y1='%.1f' y2='%.1f'/>", LEFT, right(), y, y);
      text(
          svg,
          "<text class='tick' x='%d' y='%.1f' text-anchor='end'>%s</text>",
          LEFT - 8,
          y + 4,
          HtmlReport.number(Math.pow(10, decade)));
    }
    for (int i = 0; i < xLabels.size(); i++) {
      text(
          svg,
          "<text class='tick' x='%.1f' y='%d' text-anchor='middle'>%s</text>",
          x(i),
          HEIGHT - BOTTOM + 18,
          xLabels.get(i));
    }
    text(
        svg,
        "<text class='axis' x='%d' y='%d' text-anchor='middle'>%s</text>",
        (LEFT + right()) / 2,
        HEIGHT - 8,
        xTitle);
    text(
        svg,
        "<text class='axis' transform='translate(14 %d) rotate(-90)'"
            + " text-anchor='middle'>%s</text>",
        (TOP + HEIGHT - BOTTOM) / 2,
        yUnit);
    lines.forEach(line -> draw(svg, line, low, high));
    label(svg, low, high);
    return svg.append("</svg></figure>\n").toString();
  }

  private void draw(StringBuilder svg, Line line, int low, int high) {
    StringBuilder points = new StringBuilder();
    for (int i = 0; i < line.values().length; i++) {
      text(points, "%.1f,%.1f ", x(i), y(line.values()[i], low, high));
    }
    text(
        svg,
        "<polyline points='%s' style='stroke:var(--c%d)'/>",
        points.toString().strip(),
        line.colour());
    for (int i = 0; i < line.values().length; i++) {
      text(
          svg,
          "<circle cx='%.1f' cy='%.1f' r='3.5' style='fill:var(--c%d)'><title>%s, %s: %s %s</title>"
              + "</circle>",
          x(i),
          y(line.values()[i], low, high),
          line.colour(),
          line.name(),
          xLabels.get(i),
          HtmlReport.number(line.values()[i]),
          yUnit);
    }
  }

  /** Names each line at its end; names that would cover each other move down. */
  private void label(StringBuilder svg, int low, int high) {
    List<Line> fromTop = lines.stream().sorted((a, b) -> Double.compare(last(b), last(a))).toList();
    double least = TOP;
    for (Line line : fromTop) {
      double at = Math.max(least, y(last(line), low, high));
      text(
          svg,
          "<text class='name' x='%d' y='%.1f' style='fill:var(--c%d)'>%s</text>",
          right() + 10,
          at + 4,
          line.colour(),
          line.name());
      least = at + LABEL_APART;
    }
  }

  private static double last(Line line) {
    return line.values()[line.values().length - 1];
  }

  private double extreme(boolean greatest) {
    double extreme = greatest ? 0 : Double.MAX_VALUE;
    for (Line line : lines) {
      for (double value : line.values()) {
        extreme = greatest ? Math.max(extreme, value) : Math.min(extreme, value);
      }
    }
    return extreme;
  }

  private static int right() {
    return WIDTH - RIGHT;
  }

  private double x(int i) {
    double inset = 16;
    double step = (right() - LEFT - 2 * inset) / Math.max(1, xLabels.size() - 1);
    return LEFT + inset + i * step;
  }

  private static double y(double value, int low, int high) {
    double share = (Math.log10(value) - low) / (high - low);
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP);
  }

  private static void text(StringBuilder to, String format, @Nullable Object... values) {
    to.append(String.format(Locale.ROOT, format, values));
  }
}
