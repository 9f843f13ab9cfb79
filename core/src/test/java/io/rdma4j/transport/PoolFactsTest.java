package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.diagnosis.Facts;
import io.rdma4j.diagnosis.RootCauses;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.pool.RootedPool;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.status.Cause;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a real pool does reaches the rules of root causes. */
@Timeout(120)
final class PoolFactsTest {
  private static final int BLOCK_BYTES = 4096;
  private static final long SECOND_NS = 1_000_000_000L;
  private static final String CARD = "mlx5_0";

  @TempDir private Path root;
  private final List<RegisteredBuffer> held = new ArrayList<>();
  private long nowNs = 100 * SECOND_NS;

  /** A device that takes its time. */
  private static final class Card implements MemoryRegistrar {
    volatile long registerNs;

    @Override
    public String name() {
      return CARD;
    }

    @Override
    public Registration register(long address, long lengthBytes) {
      long startNs = System.nanoTime();
      for (long leftNs; (leftNs = registerNs - (System.nanoTime() - startNs)) > 0; ) {
        LockSupport.parkNanos(leftNs);
      }
      return new Forgotten();
    }
  }

  private static final class Forgotten implements MemoryRegistrar.Registration {
    private volatile boolean closed;

    @Override
    public int lkey() {
      return 1;
    }

    @Override
    public int rkey() {
      return 1;
    }

    @Override
    public void close() {
      closed = true;
    }

    @Override
    public boolean isDeregistered() {
      return closed;
    }
  }

  private final Card card = new Card();

  /** All processors are on node 0. */
  private void twoNodes(int nodeOfCard) throws IOException {
    String nodes = "sys/devices/system/node/";
    write(nodes + "online", "0-1\n");
    write(nodes + "has_memory", "0-1\n");
    write(nodes + "node0/cpulist", "0-4095\n");
    write(nodes + "node0/distance", "10 21\n");
    write(nodes + "node1/cpulist", "\n");
    write(nodes + "node1/distance", "21 10\n");
    write("sys/class/infiniband/" + CARD + "/device/numa_node", nodeOfCard + "\n");
  }

  private void write(String path, String text) throws IOException {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
  }

  private RegisteredBufferPool pool() {
    return RootedPool.empty(card, SystemRoot.at(root), BLOCK_BYTES);
  }

  private PoolFacts look() {
    return new PoolFacts(SystemRoot.at(root), List.of(CARD));
  }

  private void grow(RegisteredBufferPool pool, int slabs) {
    for (int i = 0; i < slabs; i++) {
      held.add(pool.allocate(BLOCK_BYTES));
    }
  }

  private Facts facts(PoolFacts look, RegisteredBufferPool pool) {
    Facts.Builder facts = new Facts.Builder();
    look.addTo(facts, pool.statistics(), nowNs);
    return facts.build();
  }

  private List<String> symptoms(PoolFacts look, RegisteredBufferPool pool) {
    return RootCauses.builtIn().symptoms(facts(look, pool)).stream().map(Cause::id).toList();
  }

  private void close(RegisteredBufferPool pool) {
    held.forEach(RegisteredBuffer::close);
    pool.close();
  }

  @Test
  void slowRegistrationsAreASymptomForTenSeconds() {
    RegisteredBufferPool pool = pool();
    try {
      PoolFacts look = look();
      assertEquals(List.of(), symptoms(look, pool));
      card.registerNs = 11_000_000;
      grow(pool, 10);
      nowNs += SECOND_NS;
      assertEquals(List.of("registration-slow"), symptoms(look, pool));
      assertEquals(10, facts(look, pool).value("app.registrations").orElseThrow());
      assertTrue(facts(look, pool).value("app.register_p99_ms").orElseThrow() >= 11);
      nowNs += 9 * SECOND_NS;
      assertEquals(List.of("registration-slow"), symptoms(look, pool));
      nowNs += 2 * SECOND_NS;
      assertEquals(List.of(), symptoms(look, pool), "they are over");
    } finally {
      close(pool);
    }
  }

  @Test
  void whatWasRegisteredBeforeTheFirstLookIsNoSymptom() {
    RegisteredBufferPool pool = pool();
    try {
      card.registerNs = 11_000_000;
      grow(pool, 10);
      PoolFacts look = look();
      assertEquals(List.of(), symptoms(look, pool));
      nowNs += SECOND_NS;
      assertEquals(0, facts(look, pool).value("app.registrations").orElseThrow());
    } finally {
      close(pool);
    }
  }

  @Test
  void memoryFarFromTheCardIsASymptom() throws IOException {
    twoNodes(1);
    RegisteredBufferPool pool = pool();
    try {
      grow(pool, 4);
      assertEquals(1, facts(look(), pool).value("app.other_node_ratio").orElseThrow());
      assertEquals(List.of("memory-on-other-node"), symptoms(look(), pool));
    } finally {
      close(pool);
    }
  }

  @Test
  void memoryNearTheCardIsNone() throws IOException {
    twoNodes(0);
    RegisteredBufferPool pool = pool();
    try {
      grow(pool, 4);
      assertEquals(0, facts(look(), pool).value("app.other_node_ratio").orElseThrow());
      assertEquals(List.of(), symptoms(look(), pool));
    } finally {
      close(pool);
    }
  }

  @Test
  void aMachineOfOneNodeHasNoOtherNode() {
    RegisteredBufferPool pool = pool();
    try {
      grow(pool, 4);
      assertTrue(facts(look(), pool).value("app.other_node_ratio").isEmpty());
    } finally {
      close(pool);
    }
  }
}
