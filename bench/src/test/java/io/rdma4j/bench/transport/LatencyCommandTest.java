package io.rdma4j.bench.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** A whole run, as its user starts it: what comes out, not how fast it is. */
@Timeout(value = 120, threadMode = ThreadMode.SEPARATE_THREAD)
class LatencyCommandTest {
  @Test
  void aRunInTwoProcessesEndsWithItsFigures(@TempDir Path folder) throws IOException {
    Path json = folder.resolve("latency.json");
    int status =
        new CommandLine(new LatencyCommand())
            .execute("--quick", "--ways", "shm,socket,socket_blocking", "--json", json.toString());
    assertEquals(0, status);
    Map<String, Object> result = JSON.std.mapFrom(Files.readString(json));
    assertNames(result.get("ratios"), "rtt64_socket_vs_shm", "rtt64_socket_blocking_vs_shm");
    assertNames(result.get("missing"), "rtt64_aeron_vs_shm");
  }

  private static void assertNames(@Nullable Object figures, String... keys) {
    Map<?, ?> byKey = assertInstanceOf(Map.class, figures);
    assertTrue(byKey.keySet().containsAll(List.of(keys)), byKey::toString);
  }
}
