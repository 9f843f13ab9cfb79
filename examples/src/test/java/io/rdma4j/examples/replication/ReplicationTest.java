package io.rdma4j.examples.replication;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.testkit.verbs.ScriptedVerbs;
import io.rdma4j.transport.NodeConfig;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(240)
final class ReplicationTest {
  private static final InetSocketAddress LOCAL =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
  private static final long CAPACITY_BYTES = 4 << 20;
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void aReplicaEndsAndComesBack(String path) throws Exception {
    aReplicaEndsAndComesBack(() -> NodeConfig.builder().paths(path));
  }

  @Test
  void aReplicaEndsAndComesBackOverVerbs() throws Exception {
    ScriptedVerbs verbs = new ScriptedVerbs();
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
    aReplicaEndsAndComesBack(() -> NodeConfig.builder().paths("verbs").verbs(verbs));
  }

  private static void aReplicaEndsAndComesBack(Supplier<NodeConfig.Builder> config)
      throws Exception {
    try (var steady = new Replica(config.get(), LOCAL, CAPACITY_BYTES)) {
      Replica leaving = new Replica(config.get(), LOCAL, CAPACITY_BYTES);
      try (var primary =
          new Primary(config.get(), CAPACITY_BYTES, List.of(steady.address(), leaving.address()))) {
        primary.commitWithAll(0, TIMEOUT);
        commit(primary, 0, 100);
        InetSocketAddress address = leaving.address();
        leaving.close();
        commit(primary, 100, 200);
        try (var back = new Replica(config.get(), address, CAPACITY_BYTES)) {
          primary.commitWithAll(primary.log().end(), TIMEOUT);
          commit(primary, 200, 300);
          primary.commitWithAll(primary.log().end(), TIMEOUT);
          for (ReplicaLink link : primary.links()) {
            assertEquals(300, link.verify(), link::toString);
          }
          assertEquals(
              -1,
              primary
                  .log()
                  .memory()
                  .asSlice(0, primary.log().end())
                  .mismatch(back.log().memory().asSlice(0, primary.log().end())));
        }
      }
    }
  }

  private static void commit(Primary primary, int from, int to) throws Exception {
    for (int i = from; i < to; i++) {
      primary.commit(primary.append(new byte[i]), TIMEOUT);
    }
  }

  @Test
  void aMinorityCommitsNothing() throws Exception {
    try (var primary =
        new Primary(
            NodeConfig.builder().paths("tcp"),
            CAPACITY_BYTES,
            List.of(closedPort(), closedPort()))) {
      long position = primary.append(new byte[10]);
      assertThrows(TimeoutException.class, () -> primary.commit(position, Duration.ofMillis(200)));
    }
  }

  private static InetSocketAddress closedPort() throws Exception {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return (InetSocketAddress) socket.getLocalSocketAddress();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void aKilledProcessComesBack(String path) throws Exception {
    var output = new ByteArrayOutputStream();
    ReplicationDemo.run(300, new PrintStream(output, true, StandardCharsets.UTF_8), path);
    String said = output.toString(StandardCharsets.UTF_8);
    assertEquals(2, said.lines().filter(line -> line.startsWith("300 records checked")).count());
    assertTrue(said.contains("it came back empty"), said);
  }

  @Test
  void aDamagedRecordIsFound() {
    CommitLog log = new CommitLog(Arena.ofAuto().allocate(512, 64));
    log.append(new byte[20]);
    log.append(new byte[200]);
    assertEquals(2, log.verify());
    log.memory().set(JAVA_BYTE, 64 + 100, (byte) 1);
    assertThrows(IllegalStateException.class, log::verify);
  }

  @Test
  void aFullLogRefusesARecord() {
    CommitLog log = new CommitLog(Arena.ofAuto().allocate(128, 64));
    assertEquals(64, log.append(new byte[56]));
    assertThrows(IllegalStateException.class, () -> log.append(new byte[57]));
    assertEquals(128, log.append(new byte[56]));
  }
}
