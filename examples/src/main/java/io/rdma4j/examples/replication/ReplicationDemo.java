package io.rdma4j.examples.replication;

import io.rdma4j.transport.NodeConfig;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeoutException;

/**
 * A primary and two replicas in processes of their own. After a third of the records one replica is
 * killed; after two thirds it comes back with an empty log. At the end each has all records.
 */
public final class ReplicationDemo {
  private static final int RECORD_BYTES = 256;
  private static final long CAPACITY_BYTES = 64L << 20;
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private ReplicationDemo() {}

  /** Takes the number of records, and paths in order of preference. */
  public static void main(String[] args)
      throws IOException, InterruptedException, TimeoutException {
    int records = args.length > 0 ? Integer.parseInt(args[0]) : 30_000;
    String[] paths =
        args.length > 1
            ? Arrays.copyOfRange(args, 1, args.length)
            : new String[] {"shm", "verbs", "tcp"};
    run(records, System.out, paths);
  }

  static void run(int records, PrintStream out, String... paths)
      throws IOException, InterruptedException, TimeoutException {
    try (var steady = ReplicaProcess.start(0, CAPACITY_BYTES, paths);
        var doomed = ReplicaProcess.start(0, CAPACITY_BYTES, paths);
        var primary =
            new Primary(
                NodeConfig.builder().paths(paths),
                CAPACITY_BYTES,
                List.of(steady.address(), doomed.address()))) {
      primary.commitWithAll(0, TIMEOUT);
      say(out, "both replicas are there", primary);
      commit(primary, 0, records / 3, out);
      doomed.kill();
      commit(primary, records / 3, records / 3 * 2, out);
      say(out, "one replica was killed before these", primary);
      try (var reborn = ReplicaProcess.start(doomed.address().getPort(), CAPACITY_BYTES, paths)) {
        long startNs = System.nanoTime();
        primary.commitWithAll(primary.log().end(), TIMEOUT);
        out.printf(
            Locale.ROOT,
            "it came back empty at %s and had all again after %.0f ms%n",
            reborn.address(),
            (System.nanoTime() - startNs) / 1e6);
        commit(primary, records / 3 * 2, records, out);
        primary.commitWithAll(primary.log().end(), TIMEOUT);
        say(out, "all records", primary);
        for (ReplicaLink link : primary.links()) {
          long found = link.verify();
          if (found != records) {
            throw new IllegalStateException(link + " has " + found + " records, not " + records);
          }
          out.printf(Locale.ROOT, "%,d records checked by %s%n", found, link);
        }
      }
    }
  }

  private static void commit(Primary primary, int from, int to, PrintStream out)
      throws InterruptedException, TimeoutException {
    byte[] record = new byte[RECORD_BYTES];
    long startNs = System.nanoTime();
    for (int i = from; i < to; i++) {
      byte[] text = Integer.toString(i).getBytes(StandardCharsets.US_ASCII);
      System.arraycopy(text, 0, record, 0, text.length);
      primary.commit(primary.append(record), TIMEOUT);
    }
    out.printf(
        Locale.ROOT,
        "%,d records of %d bytes, each committed before the next: %.1f us each%n",
        to - from,
        RECORD_BYTES,
        (System.nanoTime() - startNs) / 1e3 / Math.max(1, to - from));
  }

  private static void say(PrintStream out, String what, Primary primary) {
    out.println(what + ":");
    primary.links().forEach(link -> out.println("  " + link));
  }
}
