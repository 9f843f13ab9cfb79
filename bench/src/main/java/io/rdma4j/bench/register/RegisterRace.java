package io.rdma4j.bench.register;

import io.rdma4j.bench.Progress;
import io.rdma4j.bench.Series;
import io.rdma4j.provider.MemoryRegistrar;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Prepares memory in one way after the other, round after round. The first round is thrown away: in
 * it a virtual machine may have to ask its host for the memory.
 */
final class RegisterRace {
  /** How often each way is timed in a round, in turn; the least counts. */
  private static final int BATCHES = 3;

  /** Times of one way. */
  record Times(Series allReady, Series firstReady) {}

  private final List<Preparation> ways;
  private final MemoryRegistrar registrar;
  private final long lengthBytes;
  private final Progress progress;

  RegisterRace(
      List<Preparation> ways, MemoryRegistrar registrar, long lengthBytes, Progress progress) {
    this.ways = ways;
    this.registrar = registrar;
    this.lengthBytes = lengthBytes;
    this.progress = progress;
  }

  /** Returns the times of each way by its name. */
  Map<String, Times> run(int rounds) {
    Map<String, List<double[]>> allReady = new LinkedHashMap<>();
    Map<String, List<double[]>> firstReady = new LinkedHashMap<>();
    for (int round = 0; round <= rounds; round++) {
      progress.show("round %d/%d".formatted(round, rounds));
      double[][] all = new double[ways.size()][BATCHES];
      double[][] first = new double[ways.size()][BATCHES];
      for (int batch = 0; batch < BATCHES; batch++) {
        for (int way = 0; way < ways.size(); way++) {
          measure(ways.get(way), first[way], all[way], batch);
        }
      }
      if (round > 0) {
        add(allReady, all);
        add(firstReady, first);
      }
    }
    progress.clear();
    Map<String, Times> times = new LinkedHashMap<>();
    allReady.forEach(
        (name, all) ->
            times.put(
                name,
                new Times(new Series(all), new Series(firstReady.getOrDefault(name, List.of())))));
    return times;
  }

  private void add(Map<String, List<double[]>> rounds, double[][] byWay) {
    for (int way = 0; way < byWay.length; way++) {
      rounds.computeIfAbsent(ways.get(way).name(), name -> new ArrayList<>()).add(byWay[way]);
    }
  }

  /** Times until the first part and until all of it was ready. */
  private void measure(Preparation way, double[] first, double[] all, int batch) {
    AtomicLong firstNs = new AtomicLong();
    long startNs = System.nanoTime();
    Preparation.Prepared ready =
        way.prepare(
            lengthBytes, registrar, () -> firstNs.compareAndSet(0, System.nanoTime() - startNs));
    all[batch] = System.nanoTime() - startNs;
    first[batch] = firstNs.get();
    ready.close();
  }
}
