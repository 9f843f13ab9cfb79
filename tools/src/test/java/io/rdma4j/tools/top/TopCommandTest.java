package io.rdma4j.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.pool.RegisteredBufferPool;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

@Timeout(60)
class TopCommandTest {
  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();

  private int run(String... args) {
    return new CommandLine(new TopCommand())
        .setOut(new PrintWriter(out))
        .setErr(new PrintWriter(err))
        .execute(args);
  }

  @Test
  void withoutATerminalThereIsALineForEachSecond() {
    assertEquals(0, run("--demo-pool", "--seconds", "2"));
    List<String> lines = out.toString().lines().toList();
    // A machine under load may miss a second.
    assertTrue(lines.size() == 3 || lines.size() == 2, out::toString);
    assertTrue(lines.get(0).contains("  registered "), out::toString);
    assertTrue(lines.getLast().startsWith("all buffers released: "), out::toString);
    assertEquals("", err.toString());
  }

  @Test
  void wrongSecondsAreRefused() {
    assertEquals(CommandLine.ExitCode.USAGE, run("--demo-pool", "--seconds", "0.5"));
    assertTrue(err.toString().contains("allowed are 1 to 86400"), err::toString);
  }

  @Test
  void somethingMustBeShown() {
    assertEquals(CommandLine.ExitCode.USAGE, run());
    assertTrue(err.toString().contains("--demo-pool"), err::toString);
  }

  @Test
  void theLoadLeavesNothing() {
    try (RegisteredBufferPool pool = RegisteredBufferPool.create(DemoLoad.config(), List.of())) {
      try (DemoLoad load = new DemoLoad(pool)) {
        while (pool.statistics().allocations() < 10_000) {
          Thread.onSpinWait();
        }
        assertFalse(load.phase().isEmpty());
      }
      PoolStatistics now = pool.statistics();
      assertEquals(0, now.usedBytes());
      assertEquals(0, now.refusedReleases());
    }
  }
}
