package io.rdma4j.status;

import java.util.List;
import java.util.regex.Pattern;

/**
 * What a table shows: stated once by its source and known to every reader.
 *
 * <p>Immutable. Usually a constant.
 *
 * @param name one lower-case word, unique in a registry; a page of that name shows the table
 * @param meaning one sentence
 * @param columns in the order in which rows give their cells
 */
public record TableDescriptor(String name, String meaning, List<Column> columns) {

  /** What the cells of a column are. Any cell may be null: not known, or not applicable. */
  public enum Kind {
    /** A {@link String}. */
    TEXT(String.class),
    /** A {@link Long}. */
    WHOLE(Long.class),
    /** A {@link Double}. */
    REAL(Double.class),
    /** A {@link Boolean}. */
    FLAG(Boolean.class);

    private final Class<?> type;

    Kind(Class<?> type) {
      this.type = type;
    }

    boolean takes(Object cell) {
      return type.isInstance(cell);
    }
  }

  /**
   * A column.
   *
   * @param name lower-case words joined by {@code _}; the unit, if there is one, is the last
   * @param kind what its cells are
   * @param meaning one sentence
   */
  public record Column(String name, Kind kind, String meaning) {
    /** Checks name and meaning. */
    public Column {
      requireWords(name);
      requireSentence(name, meaning);
    }
  }

  private static final Pattern WORDS = Pattern.compile("[a-z][a-z0-9]*(_[a-z0-9]+)*");
  private static final Pattern WORD = Pattern.compile("[a-z][a-z0-9]*");

  /**
   * Checks the conventions.
   *
   * @throws IllegalArgumentException when one is broken, naming it
   */
  public TableDescriptor {
    columns = List.copyOf(columns);
    if (!WORD.matcher(name).matches()) {
      throw new IllegalArgumentException("table '" + name + "': a name is one lower-case word");
    }
    requireSentence(name, meaning);
    if (columns.isEmpty()
        || columns.stream().map(Column::name).distinct().count() != columns.size()) {
      throw new IllegalArgumentException(
          "table '%s': at least one column, each of another name: %s".formatted(name, columns));
    }
  }

  private static void requireWords(String name) {
    if (!WORDS.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "column '" + name + "': a name is lower-case words joined by '_'");
    }
  }

  private static void requireSentence(String name, String meaning) {
    if (!meaning.endsWith(".") || meaning.lines().count() != 1) {
      throw new IllegalArgumentException(
          "'%s': the meaning is one sentence on one line and ends with a full stop: '%s'"
              .formatted(name, meaning));
    }
  }
}
