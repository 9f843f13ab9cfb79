package io.rdma4j.status;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import io.rdma4j.Rdma4jException;
import io.rdma4j.status.TableDescriptor.Column;
import io.rdma4j.status.TableDescriptor.Kind;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class StatusTableTest {
  private static final TableDescriptor CARS =
      new TableDescriptor(
          "cars",
          "Cars.",
          List.of(
              new Column("plate", Kind.TEXT, "Plate."),
              new Column("seats", Kind.WHOLE, "Seats."),
              new Column("age_seconds", Kind.REAL, "Age."),
              new Column("electric", Kind.FLAG, "Whether it is electric.")));

  private final StatusRegistry registry = new StatusRegistry();

  @Test
  void rowsReadTheSameAsTextAndAsJson() throws IOException {
    registry.register(
        source(
            rows -> {
              rows.add("B-\"1\"\n", 4L, 1.25, true);
              rows.add(null, null, Double.NaN, null);
              rows.add("B-3", 2L, 3.0, false);
            }));
    StatusTable table = registry.table("cars", 2).orElseThrow();
    assertEquals(
        """
        plate    seats  age_seconds  electric
        B-"1"\\n      4        1.250  true
        -            -          NaN  -
        and 1 more
        """,
        table.text());
    Map<String, Object> json = JSON.std.mapFrom(table.json());
    assertEquals("cars", json.get("table"));
    assertEquals(1, json.get("leftOut"));
    assertEquals(
        "[{plate=B-\"1\"\n, seats=4, age_seconds=1.25, electric=true},"
            + " {plate=null, seats=null, age_seconds=null, electric=null}]",
        String.valueOf(json.get("rows")));
  }

  @Test
  void aTableIsThereWhileItsRegistrationIsOpen() {
    StatusRegistry.Registration registration = registry.register(source(rows -> {}));
    assertEquals(List.of(CARS), registry.tables());
    assertThrows(IllegalStateException.class, () -> registry.register(source(rows -> {})));
    registration.close();
    registration.close();
    assertEquals(List.of(), registry.tables());
    assertTrue(registry.table("cars", 10).isEmpty());
    registry.register(source(rows -> {}));
    assertTrue(registry.table("cars", 10).isPresent());
  }

  @Test
  void aRowThatDoesNotFitFailsAndShows() {
    registry.register(source(rows -> rows.add("B-1", 4, 1.0, true)));
    Rdma4jException failure = assertThrows(Rdma4jException.class, () -> registry.table("cars", 10));
    assertTrue(failure.toString().contains("seats"), failure.toString());
    String noted = String.valueOf(registry.snapshot().lastFailure());
    assertTrue(noted.contains("table 'cars'"), noted);
  }

  @Test
  void conventionsAreHeld() {
    assertThrows(IllegalArgumentException.class, () -> new Column("Seats", Kind.WHOLE, "Seats."));
    assertThrows(IllegalArgumentException.class, () -> new Column("seats", Kind.WHOLE, "Seats"));
    Column seats = new Column("seats", Kind.WHOLE, "Seats.");
    assertThrows(
        IllegalArgumentException.class, () -> new TableDescriptor("a_b", "Cars.", List.of(seats)));
    assertThrows(
        IllegalArgumentException.class, () -> new TableDescriptor("cars", "Cars.", List.of()));
    assertThrows(
        IllegalArgumentException.class,
        () -> new TableDescriptor("cars", "Cars.", List.of(seats, seats)));
  }

  private static TableSource source(Consumer<TableSource.Rows> rows) {
    return new TableSource() {
      @Override
      public TableDescriptor table() {
        return CARS;
      }

      @Override
      public void collect(Rows sink) {
        rows.accept(sink);
      }
    };
  }
}
