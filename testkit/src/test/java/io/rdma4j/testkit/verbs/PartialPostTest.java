package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.ScatterTable;
import io.rdma4j.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A list that the device takes in part goes on where it stopped: nothing twice, nothing lost. */
@Timeout(60)
final class PartialPostTest {
  private static final int BATCH = 16;

  @Test
  void aSendListIsResumedAtTheRequestThatWasRefused() {
    try (var pair = new RawPair();
        Arena arena = Arena.ofShared();
        SendList list = new SendList(BATCH, 2);
        ReceiveList receives = new ReceiveList(BATCH, 1)) {
      MemorySegment memory = arena.allocate(4096, 4096);
      MemoryRegion region = pair.domain.registerMemory(memory.address(), 4096, Access.LOCAL_WRITE);
      for (int i = 0; i < BATCH; i++) {
        memory.set(ValueLayout.JAVA_LONG, i * 8L, 1000 + i);
        receives.add(i).scatter(memory.address() + 2048 + i * 8L, 8, region.lkey());
        list.add(i, SendList.OP_SEND_WITH_IMM, SendList.SIGNALED).withImmediate(i);
        // Both halves of a word, or nothing at all for the last: entries move along.
        if (i < BATCH - 1) {
          list.gather(memory.address() + i * 8L, 4, region.lkey())
              .gather(memory.address() + i * 8L + 4, 4, region.lkey());
        }
      }
      assertEquals(BATCH, pair.b.postReceive(receives));
      pair.verbs.faults().acceptOnly("ibv_post_send", 10, Errno.ENOMEM);
      assertEquals(10, pair.a.postSend(list));
      assertEquals(Errno.ENOMEM, list.errno());
      assertEquals(10, pair.completionsA.poll(pair.batch));
      list.dropFirst(10);
      assertEquals(6, list.size());
      assertEquals(6, pair.a.postSend(list));
      assertEquals(6, pair.completionsA.poll(pair.batch));
      assertEquals(10, pair.batch.wrId(0));
      assertEquals(15, pair.batch.wrId(5));
      assertEquals(BATCH, pair.completionsB.poll(pair.batch));
      for (int i = 0; i < BATCH; i++) {
        assertEquals(i, pair.batch.immediate(i));
        assertEquals(i == BATCH - 1 ? 0 : 8, pair.batch.lengthBytes(i));
        long expected = i == BATCH - 1 ? 0 : 1000 + i;
        assertEquals(expected, memory.get(ValueLayout.JAVA_LONG, 2048 + i * 8L));
      }
      region.close();
    }
  }

  @Test
  void aListRefusedFromTheStartLeavesNoTrace() {
    try (var pair = new RawPair();
        SendList list = new SendList(BATCH, 1)) {
      for (int i = 0; i < BATCH; i++) {
        list.add(i, SendList.OP_RDMA_WRITE, SendList.SIGNALED);
      }
      pair.verbs.faults().acceptOnly("ibv_post_send", 0, Errno.ENOMEM);
      assertEquals(0, pair.a.postSend(list));
      assertEquals(Errno.ENOMEM, list.errno());
      assertEquals(0, pair.completionsA.poll(pair.batch));
      list.dropFirst(0);
      assertEquals(BATCH, pair.a.postSend(list));
      assertEquals(BATCH, pair.completionsA.poll(pair.batch));
      list.dropFirst(BATCH);
      assertEquals(0, list.size());
    }
  }

  @ParameterizedTest(name = "entries of a table: {0}")
  @ValueSource(booleans = {false, true})
  void aReceiveListIsResumedTheSameWay(boolean ofTable) {
    try (var pair = new RawPair();
        Arena arena = Arena.ofShared();
        SendList list = new SendList(BATCH, 1);
        ScatterTable table = new ScatterTable(BATCH, 1);
        ReceiveList receives = new ReceiveList(BATCH, 2)) {
      MemorySegment memory = arena.allocate(4096, 4096);
      MemoryRegion region = pair.domain.registerMemory(memory.address(), 4096, Access.LOCAL_WRITE);
      for (int i = 0; i < BATCH; i++) {
        memory.set(ValueLayout.JAVA_LONG, 2048 + i * 8L, i + 1);
        list.add(i, SendList.OP_SEND, 0).gather(memory.address() + 2048 + i * 8L, 8, region.lkey());
        if (ofTable) {
          table.set(i, 0, memory.address() + i * 8L, 8, region.lkey());
          receives.add(100 + i, table, i);
        } else {
          receives.add(100 + i).scatter(memory.address() + i * 8L, 8, region.lkey());
        }
      }
      pair.verbs.faults().acceptOnly("ibv_post_recv", 5, Errno.ENOMEM);
      assertEquals(5, pair.b.postReceive(receives));
      receives.dropFirst(5);
      assertEquals(BATCH - 5, pair.b.postReceive(receives));
      assertEquals(BATCH, pair.a.postSend(list));
      assertEquals(BATCH, pair.completionsB.poll(pair.batch));
      for (int i = 0; i < BATCH; i++) {
        assertEquals(100 + i, pair.batch.wrId(i));
        assertEquals(i + 1, memory.get(ValueLayout.JAVA_LONG, i * 8L));
      }
      region.close();
    }
  }
}
