package io.rdma4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.testkit.interop.RpingClient;
import io.rdma4j.testkit.interop.RpingServer;
import io.rdma4j.verbs.Verbs;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The binding against rdma-core's own rping, in both roles, on RoCEv2 and iWARP. */
@Tag("lab")
@Timeout(value = 90, unit = TimeUnit.SECONDS)
final class RpingInteropLabTest {
  private static final int PINGS = 10;
  private static final int DEFAULT_DATA_BYTES = 64;
  private static final long STEP_NS = 20_000_000_000L;
  private static final String ROCE = "10.9.0.1";
  private static final String IWARP = "10.9.1.1";

  @ParameterizedTest
  @ValueSource(strings = {ROCE, IWARP})
  void servesRping(String address) throws Exception {
    try (RpingServer server =
            new RpingServer(Verbs.system(), new InetSocketAddress(address, 0), STEP_NS);
        Tool rping =
            Tool.start(
                "rping",
                "-c",
                "-a",
                address,
                "-C",
                PINGS + "",
                "-v",
                "-p",
                server.localAddress().getPort() + "")) {
      assertEquals(PINGS, server.serveOne(), rping::output);
      assertEquals(0, rping.awaitExit(), rping::output);
      assertTrue(rping.output().contains("ping data: rdma-ping-9"), rping::output);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {ROCE, IWARP})
  void drivesRping(String address) throws Exception {
    int port = 7174;
    try (Tool rping = Tool.start("rping", "-s", "-a", address, "-C", PINGS + "", "-v")) {
      rping.awaitListening(port);
      RpingClient.ping(
          Verbs.system(), new InetSocketAddress(address, port), PINGS, DEFAULT_DATA_BYTES, STEP_NS);
      assertEquals(0, rping.awaitExit(), rping::output);
      assertTrue(rping.output().contains("server ping data: rdma-ping-9"), rping::output);
    }
  }
}
