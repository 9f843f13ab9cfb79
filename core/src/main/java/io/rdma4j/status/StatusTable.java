package io.rdma4j.status;

import io.rdma4j.status.TableDescriptor.Column;
import io.rdma4j.status.TableDescriptor.Kind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a table at one moment. Immutable; a row that does not fit its columns can not be
 * added.
 *
 * @param descriptor what the table shows
 * @param rows cells in the order of the columns, null where nothing is known
 * @param leftOut rows there were beyond those that the reader asked for
 */
public record StatusTable(
    TableDescriptor descriptor, List<List<@Nullable Object>> rows, long leftOut) {
  private static final String UNKNOWN = "-";

  /** Copies the rows. */
  public StatusTable {
    rows = rows.stream().map(StatusTable::copy).toList();
  }

  /** As {@link List#copyOf}, which takes no null. */
  private static List<@Nullable Object> copy(List<@Nullable Object> row) {
    return Collections.unmodifiableList(new ArrayList<>(row));
  }

  /**
   * Returns the rows below a line of names, in columns; then how many were left out, unless none
   * were. Lines end by LF. Control characters in a text show as in JSON.
   */
  public String text() {
    List<List<String>> lines = new ArrayList<>();
    lines.add(descriptor.columns().stream().map(Column::name).toList());
    for (List<@Nullable Object> row : rows) {
      lines.add(row.stream().map(StatusTable::cell).toList());
    }
    int[] widths = new int[descriptor.columns().size()];
    for (List<String> line : lines) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], line.get(i).length());
      }
    }
    String more = leftOut == 0 ? "" : "and " + leftOut + " more\n";
    return lines.stream().map(line -> padded(line, widths)).collect(Collectors.joining()) + more;
  }

  private static String cell(@Nullable Object cell) {
    return switch (cell) {
      case null -> UNKNOWN;
      case Double real -> String.format(Locale.ROOT, "%.3f", real);
      case String text -> {
        String quoted = JsonText.quote(text);
        yield quoted.substring(1, quoted.length() - 1).replace("\\\"", "\"");
      }
      default -> cell.toString();
    };
  }

  private String padded(List<String> line, int[] widths) {
    StringJoiner text = new StringJoiner("  ", "", "\n");
    for (int i = 0; i < widths.length; i++) {
      String padding = " ".repeat(widths[i] - line.get(i).length());
      Kind kind = descriptor.columns().get(i).kind();
      boolean number = kind == Kind.WHOLE || kind == Kind.REAL;
      boolean last = i == widths.length - 1;
      text.add(number ? padding + line.get(i) : line.get(i) + (last ? "" : padding));
    }
    return text.toString();
  }

  /**
   * Returns the table as JSON (RFC 8259), one row on a line.
   *
   * <pre>
   * {"table":"connections","meaning":"Open connections.","leftOut":0,"rows":[
   * {"id":1,"peer":"10.0.0.7:41002","path":"shm", ...},
   * ...
   * ]}
   * </pre>
   */
  public String json() {
    return rows.stream()
        .map(this::json)
        .collect(
            Collectors.joining(
                ",\n",
                "{\"table\":%s,\"meaning\":%s,\"leftOut\":%d,\"rows\":[\n"
                    .formatted(
                        JsonText.quote(descriptor.name()),
                        JsonText.quote(descriptor.meaning()),
                        leftOut),
                "\n]}\n"));
  }

  private String json(List<@Nullable Object> row) {
    StringJoiner fields = new StringJoiner(",", "{", "}");
    for (int i = 0; i < row.size(); i++) {
      fields.add(JsonText.quote(descriptor.columns().get(i).name()) + ":" + jsonCell(row.get(i)));
    }
    return fields.toString();
  }

  private static String jsonCell(@Nullable Object cell) {
    return switch (cell) {
      case null -> "null";
      case String text -> JsonText.quote(text);
      case Double real when !Double.isFinite(real) -> "null";
      default -> cell.toString();
    };
  }

  /** Gathers the rows of one table, checked as they come. One thread. */
  static final class Builder implements TableSource.Rows {
    private final TableDescriptor descriptor;
    private final int maxRows;
    private final List<List<@Nullable Object>> rows = new ArrayList<>();
    private long leftOut;

    Builder(TableDescriptor descriptor, int maxRows) {
      this.descriptor = descriptor;
      this.maxRows = maxRows;
    }

    @Override
    public void add(@Nullable Object... cells) {
      List<Column> columns = descriptor.columns();
      if (cells.length != columns.size()) {
        throw new IllegalArgumentException(
            "table '%s': %d columns, a row of %d cells"
                .formatted(descriptor.name(), columns.size(), cells.length));
      }
      List<@Nullable Object> row = new ArrayList<>(cells.length);
      for (int i = 0; i < cells.length; i++) {
        Object cell = cells[i];
        if (cell != null && !columns.get(i).kind().takes(cell)) {
          throw new IllegalArgumentException(
              "table '%s': column %s does not take %s"
                  .formatted(descriptor.name(), columns.get(i), cell));
        }
        row.add(cell);
      }
      if (rows.size() < maxRows) {
        rows.add(row);
      } else {
        leftOut++;
      }
    }

    StatusTable build() {
      return new StatusTable(descriptor, rows, leftOut);
    }
  }
}
