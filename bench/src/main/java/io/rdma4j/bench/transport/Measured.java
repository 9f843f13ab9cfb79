package io.rdma4j.bench.transport;

import io.rdma4j.bench.Series;
import java.util.ArrayList;
import java.util.List;

/**
 * What one row was measured to cost in all rounds.
 *
 * @param series wall time of an operation
 * @param cpu CPU of both processes by operation, one figure for each round
 */
record Measured(Task task, String way, Series series, Series cpu, double bytesPerOp) {
  static Measured of(Race.Row row, List<Subject.Batches> rounds) {
    List<double[]> wall = new ArrayList<>();
    List<double[]> cpu = new ArrayList<>();
    for (Subject.Batches batches : rounds) {
      wall.add(batches.nsPerOp());
      cpu.add(new double[] {batches.cpuNsPerOp()});
    }
    double bytesPerOp =
        Series.median(rounds.stream().mapToDouble(Subject.Batches::bytesPerOp).toArray());
    return new Measured(row.task(), row.way(), new Series(wall), new Series(cpu), bytesPerOp);
  }
}
