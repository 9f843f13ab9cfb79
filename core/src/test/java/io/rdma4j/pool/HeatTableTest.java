package io.rdma4j.pool;

import static io.rdma4j.pool.PoolTestSupport.oneClass;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.os.SystemRoot;
import io.rdma4j.pool.HeatTable.Row;
import io.rdma4j.pool.HeatTable.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class HeatTableTest {
  private static final int SLAB_BLOCKS = 16;

  private final LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
  private long nowNs;

  private RegisteredBufferPool pool() {
    return RegisteredBufferPool.create(
        oneClass(4096, SLAB_BLOCKS)
            .maxCached(0)
            .initialBytes(2 * SLAB_BLOCKS * 4096)
            .minBytes(0)
            .cleanupInterval(Duration.ofSeconds(5))
            .build(),
        List.of(device),
        SystemRoot.host(),
        () -> nowNs);
  }

  private void pass(RegisteredBufferPool pool, int seconds) {
    for (int i = 0; i < seconds; i++) {
      nowNs += TimeUnit.SECONDS.toNanos(1);
      pool.maintain();
    }
  }

  @Test
  void rowsTellWhatWasUsedAndWhen() {
    try (RegisteredBufferPool pool = pool()) {
      assertEquals(List.of(0L, 0L), pool.heat().rows().stream().map(Row::uses).toList());
      List<RegisteredBuffer> held = new ArrayList<>();
      for (int i = 0; i < 2 * SLAB_BLOCKS; i++) {
        held.add(pool.allocate(1));
      }
      long first = held.getFirst().address();
      long second = held.getLast().address();
      assertEquals(2, pool.heat().rows().size());
      held.subList(1, held.size()).forEach(RegisteredBuffer::release);
      pool.heat();
      nowNs += TimeUnit.SECONDS.toNanos(3);
      HeatTable heat = pool.heat();
      Row hot = heat.rows().getFirst();
      Row cold = heat.rows().getLast();
      assertEquals("0x" + Long.toHexString(first), hot.id(), "what is in use is the hottest");
      assertTrue(Long.parseLong(cold.id().substring(2), 16) <= second, cold.id());
      assertEquals(1, hot.liveBlocks());
      assertEquals(0, cold.liveBlocks());
      assertEquals(SLAB_BLOCKS, hot.uses());
      assertEquals(SLAB_BLOCKS, cold.uses());
      assertEquals(SLAB_BLOCKS, cold.blocks());
      assertEquals(0.0, hot.ageSeconds());
      assertEquals(3.0, cold.ageSeconds());
      assertEquals(3000, hot.lastUseEpochMillis() - cold.lastUseEpochMillis());
      assertEquals(State.ACTIVE, cold.state());
      held.getFirst().release();
    }
  }

  @Test
  void statesFollowTheSlab() {
    RegisteredBufferPool pool = pool();
    pool.allocate(1).release();
    pass(pool, 7);
    assertEquals(State.PENDING, pool.heat().rows().getFirst().state());
    device.busy(true);
    pass(pool, 7);
    assertEquals(State.LEAVING, pool.heat().rows().getFirst().state());
    device.busy(false);
    pass(pool, 1);
    assertEquals(List.of(), pool.heat().rows());
    pool.close();
    assertEquals(List.of(), pool.heat().rows());
  }

  private static final HeatTable TABLE =
      new HeatTable(
          List.of(
              new Row("0x7f0c54000000", 8192, 1, 0, 0.5, 1200, 3, 256, State.ACTIVE, false),
              new Row("0x7f0c5000", 65536, -1, 86_400_000, 12, 7, 0, 1, State.PENDING, true)));

  @Test
  void theTextIsAligned() {
    assertEquals(
        """
        block id       | last use                 | use count | state   | age s | block bytes | live | blocks | node | fallback
        0x7f0c54000000 | 1970-01-01 00:00:00.000Z |      1200 | ACTIVE  |   0.5 |        8192 |    3 |    256 |    1 | no
        0x7f0c5000     | 1970-01-02 00:00:00.000Z |         7 | PENDING |  12.0 |       65536 |    0 |      1 |    - | yes
        """,
        TABLE.text());
  }

  @Test
  void theJsonHasEveryField() {
    assertEquals(
        """
        {"slabs":[
        {"id":"0x7f0c54000000","lastUseEpochMillis":0,"ageSeconds":0.5,"uses":1200,"state":"ACTIVE","blockBytes":8192,"liveBlocks":3,"blocks":256,"node":1,"fallback":false},
        {"id":"0x7f0c5000","lastUseEpochMillis":86400000,"ageSeconds":12.0,"uses":7,"state":"PENDING","blockBytes":65536,"liveBlocks":0,"blocks":1,"node":null,"fallback":true}
        ]}
        """,
        TABLE.json());
    assertEquals("{\"slabs\":[\n\n]}\n", new HeatTable(List.of()).json());
  }

  @Test
  void rowsCanNotBeChanged() {
    assertThrows(
        UnsupportedOperationException.class, () -> TABLE.rows().add(TABLE.rows().getFirst()));
  }
}
