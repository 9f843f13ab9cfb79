package io.rdma4j.bench.transport;

import io.rdma4j.bench.Progress;
import java.io.IOException;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Measures all rows in turn, round after round. Single thread only. */
final class Race {
  /** One line of the result. */
  record Row(Task task, String way, Subject subject) {
    String name() {
      return task.key() + "_" + way;
    }
  }

  private final List<Row> rows;
  private final Plan plan;
  private final Progress progress;
  private final Map<String, String> reasonByFailedRow = new LinkedHashMap<>();

  Race(List<Row> rows, Plan plan, Progress progress) {
    this.rows = rows;
    this.plan = plan;
    this.progress = progress;
  }

  /** Returns why rows of the programs of others are missing. */
  Map<String, String> reasonByFailedRow() {
    return reasonByFailedRow;
  }

  Map<String, Measured> run() throws IOException {
    warmUp();
    Map<String, List<Subject.Batches>> rounds = new LinkedHashMap<>();
    for (int round = 1; round <= plan.rounds(); round++) {
      for (Row row : rows) {
        progress.show("round " + round + " of " + plan.rounds() + ": " + row.name());
        if (!reasonByFailedRow.containsKey(row.name())) {
          measureInto(rounds, row);
        }
      }
    }
    progress.clear();
    Map<String, Measured> measured = new LinkedHashMap<>();
    for (Row row : rows) {
      if (!reasonByFailedRow.containsKey(row.name())) {
        measured.put(row.name(), Measured.of(row, batchesOf(rounds, row)));
      }
    }
    return measured;
  }

  private void measureInto(Map<String, List<Subject.Batches>> rounds, Row row) throws IOException {
    try {
      batchesOf(rounds, row).add(measure(row));
    } catch (IOException e) {
      if (!row.subject().isOfOthers()) {
        throw failed(row, e);
      }
      reasonByFailedRow.put(row.name(), String.valueOf(e.getMessage()));
    }
  }

  private Subject.Batches measure(Row row) throws IOException {
    Task.Kind kind = row.task().kind();
    return kind == Task.Kind.STREAM || kind == Task.Kind.LARGE
        ? row.subject().measure(row.task(), plan.streamBatches(), plan.streamBatchNs())
        : row.subject().measure(row.task(), plan.batches(), plan.batchNs());
  }

  private static List<Subject.Batches> batchesOf(
      Map<String, List<Subject.Batches>> rounds, Row row) {
    return rounds.computeIfAbsent(row.name(), any -> new ArrayList<>());
  }

  private void warmUp() throws IOException {
    Map<Subject, Set<Task.Kind>> seen = new LinkedHashMap<>();
    for (Row row : rows) {
      progress.show("warm-up: " + row.name());
      boolean first =
          seen.computeIfAbsent(row.subject(), any -> EnumSet.noneOf(Task.Kind.class))
              .add(row.task().kind());
      try {
        row.subject().warmUp(row.task(), first ? plan.warmUpNs() : plan.warmUpNs() / 4);
      } catch (IOException e) {
        throw failed(row, e);
      }
    }
  }

  private static IOException failed(Row row, IOException e) {
    return new IOException(row.name() + ": " + e.getMessage(), e);
  }
}
