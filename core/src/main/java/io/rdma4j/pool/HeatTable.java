package io.rdma4j.pool;

import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.stream.Collectors;

/**
 * How warm each slab of a pool is, the hottest first: what was used last, and of those most often.
 * Immutable.
 *
 * @param rows one for each slab that a device still knows
 */
public record HeatTable(List<Row> rows) {
  /** Where a slab is in its life. */
  public enum State {
    /** Its blocks are handed out. */
    ACTIVE,
    /** Idle: its blocks are kept back, it is registered still, and demand revives it. */
    PENDING,
    /** Out of the pool; a device has not forgotten it yet. */
    LEAVING
  }

  /**
   * One slab.
   *
   * @param id its address in hexadecimal, with {@code 0x}
   * @param blockBytes the size of its blocks
   * @param node the NUMA node it was placed on, {@link PoolStatistics.Node#UNKNOWN} when unknown
   * @param lastUseEpochMillis when a block of it was last seen on lease, or to have been since the
   *     look before; its creation if never
   * @param ageSeconds how long ago that is
   * @param uses the leases of its blocks so far
   * @param liveBlocks its blocks on lease now
   * @param blocks all its blocks
   * @param state where it is in its life
   * @param fallback whether it was registered for one request that could not wait
   */
  public record Row(
      String id,
      int blockBytes,
      int node,
      long lastUseEpochMillis,
      double ageSeconds,
      long uses,
      int liveBlocks,
      int blocks,
      State state,
      boolean fallback) {}

  private static final DateTimeFormatter CLOCK =
      DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSS'Z'", Locale.ROOT)
          .withZone(ZoneOffset.UTC);

  private static final List<String> HEADINGS =
      List.of(
          "block id",
          "last use",
          "use count",
          "state",
          "age s",
          "block bytes",
          "live",
          "blocks",
          "node",
          "fallback");

  /** Columns of text, which start at the left; numbers end at the right. */
  private static final List<Boolean> IS_TEXT =
      List.of(true, true, false, true, false, false, false, false, false, true);

  /** Copies the rows. */
  public HeatTable {
    rows = List.copyOf(rows);
  }

  /** Returns a table with one line for each slab, below one of headings; lines end by LF. */
  public String text() {
    List<List<String>> lines = new ArrayList<>();
    lines.add(HEADINGS);
    rows.forEach(row -> lines.add(cells(row)));
    int[] widths = new int[HEADINGS.size()];
    for (List<String> line : lines) {
      for (int column = 0; column < widths.length; column++) {
        widths[column] = Math.max(widths[column], line.get(column).length());
      }
    }
    return lines.stream().map(line -> padded(line, widths)).collect(Collectors.joining());
  }

  private static List<String> cells(Row row) {
    return List.of(
        row.id,
        CLOCK.format(Instant.ofEpochMilli(row.lastUseEpochMillis)),
        Long.toString(row.uses),
        row.state.name(),
        String.format(Locale.ROOT, "%.1f", row.ageSeconds),
        Integer.toString(row.blockBytes),
        Integer.toString(row.liveBlocks),
        Integer.toString(row.blocks),
        row.node == PoolStatistics.Node.UNKNOWN ? "-" : Integer.toString(row.node),
        row.fallback ? "yes" : "no");
  }

  private static String padded(List<String> line, int[] widths) {
    StringJoiner text = new StringJoiner(" | ", "", "\n");
    for (int column = 0; column < widths.length; column++) {
      String padding = " ".repeat(widths[column] - line.get(column).length());
      boolean last = column == widths.length - 1;
      text.add(
          IS_TEXT.get(column)
              ? line.get(column) + (last ? "" : padding)
              : padding + line.get(column));
    }
    return text.toString();
  }

  /**
   * Returns the table as JSON (RFC 8259), one slab on a line; {@code node} is null when unknown.
   *
   * <pre>
   * {"slabs":[
   * {"id":"0x7f0c54000000","lastUseEpochMillis":1767225600000,"ageSeconds":0.25,"uses":1200,
   *  "state":"ACTIVE","blockBytes":8192,"liveBlocks":3,"blocks":256,"node":null,"fallback":false},
   * ...
   * ]}
   * </pre>
   */
  public String json() {
    return rows.stream()
        .map(HeatTable::json)
        .collect(Collectors.joining(",\n", "{\"slabs\":[\n", "\n]}\n"));
  }

  /** Neither ids nor names of states have a character that JSON escapes. */
  private static String json(Row row) {
    return new StringJoiner(",", "{", "}")
        .add("\"id\":\"" + row.id + '"')
        .add("\"lastUseEpochMillis\":" + row.lastUseEpochMillis)
        .add("\"ageSeconds\":" + row.ageSeconds)
        .add("\"uses\":" + row.uses)
        .add("\"state\":\"" + row.state + '"')
        .add("\"blockBytes\":" + row.blockBytes)
        .add("\"liveBlocks\":" + row.liveBlocks)
        .add("\"blocks\":" + row.blocks)
        .add("\"node\":" + (row.node == PoolStatistics.Node.UNKNOWN ? "null" : row.node))
        .add("\"fallback\":" + row.fallback)
        .toString();
  }

  @Override
  public String toString() {
    return text();
  }
}
