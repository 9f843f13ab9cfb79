package io.rdma4j.bench.monitor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.bench.Progress;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** What is measured is there: requests are answered, the monitor is followed and scraped. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
final class WatchersTest {
  private static final long MS = 1_000_000L;

  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void aNodeWithTrafficIsFollowedAndScraped(String path) throws Exception {
    try (Traffic traffic = new Traffic(path)) {
      assertTrue(traffic.toString().contains(path), traffic::toString);
      assertTrue(traffic.run(10 * MS) > 0, "requests were answered");
      try (Watchers watchers = new Watchers(traffic.node(), Path.of("/"), 20 * MS)) {
        long scrapes = watchers.scrapes();
        long messages = watchers.messages();
        long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (watchers.scrapes() < scrapes + 2 || watchers.messages() < messages + 2) {
          assertTrue(traffic.run(10 * MS) > 0, "requests were answered beside the monitor");
          assertTrue(System.nanoTime() < endNs, "no two scrapes and messages within 60 s");
        }
      }
      assertTrue(traffic.run(10 * MS) > 0, "and after it");
    }
  }

  @Test
  void aListenerHearsOfEachIncident() throws Exception {
    try (Traffic traffic = new Traffic("tcp")) {
      Hearing hearing = Hearing.of(traffic.node(), 5, new Progress());
      assertEquals(5, hearing.incidents());
      assertTrue(hearing.percentileNs(0) > 0, hearing::toString);
      assertTrue(hearing.percentileNs(50) <= hearing.percentileNs(99), hearing::toString);
      assertEquals(hearing.percentileNs(100), hearing.percentileNs(99), hearing::toString);
    }
  }

  @Test
  void whatCanNotBeMeasuredIsRefused() {
    for (String wrong : new String[] {"--pairs=5", "--path=udp", "--root=/no/such/folder"}) {
      StringWriter said = new StringWriter();
      int status =
          new CommandLine(new MonitorCommand()).setErr(new PrintWriter(said)).execute(wrong);
      assertEquals(CommandLine.ExitCode.USAGE, status, said::toString);
      assertTrue(said.toString().contains(wrong.substring(wrong.indexOf('=') + 1)), said::toString);
    }
  }
}
