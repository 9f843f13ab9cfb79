package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.VerbsException;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.QueuePairState;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The scripted device does what a real one does, so that tests against it mean something. */
@Timeout(60)
final class ScriptedDeviceTest {
  private static final int ALL =
      Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC;
  private static final int REMOTE_ACCESS_ERROR = 10;
  private static final int RNR_RETRY_EXCEEDED = 13;

  private final RawPair pair = new RawPair();
  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory = arena.allocate(8192, 4096);
  private final MemoryRegion region = pair.domain.registerMemory(memory.address(), 8192, ALL);
  private final SendList sends = new SendList(RawPair.DEPTH, 4);
  private final ReceiveList receives = new ReceiveList(RawPair.DEPTH, 4);

  @AfterEach
  void giveBack() {
    sends.close();
    receives.close();
    region.close();
    pair.close();
    arena.close();
  }

  /** Posts the list and returns the status of its one completion. */
  private int execute() {
    assertEquals(sends.size(), pair.a.postSend(sends));
    assertEquals(1, pair.completionsA.poll(pair.batch));
    return pair.batch.status(0);
  }

  private SendList request(int opcode) {
    sends.clear();
    return sends.add(77, opcode, SendList.SIGNALED);
  }

  @Test
  void writesAndReadsMoveBytes() {
    memory.setString(0, "from here to there");
    request(SendList.OP_RDMA_WRITE)
        .gather(region.address(), 10, region.lkey())
        .gather(region.address() + 10, 9, region.lkey())
        .remote(region.address() + 4096, region.rkey());
    assertEquals(Completions.SUCCESS, execute());
    assertEquals("from here to there", memory.getString(4096));
    request(SendList.OP_RDMA_READ)
        .gather(region.address() + 1024, 5, region.lkey())
        .gather(region.address() + 2048, 14, region.lkey())
        .remote(region.address() + 4096, region.rkey());
    assertEquals(Completions.SUCCESS, execute());
    assertEquals("here to there", memory.getString(2048));
  }

  @Test
  void atomicsReturnTheValueBefore() {
    memory.set(ValueLayout.JAVA_LONG, 4096, 40);
    request(SendList.OP_FETCH_AND_ADD)
        .gather(region.address(), 8, region.lkey())
        .atomic(region.address() + 4096, region.rkey(), 2, 0);
    assertEquals(Completions.SUCCESS, execute());
    assertEquals(40, memory.get(ValueLayout.JAVA_LONG, 0));
    assertEquals(42, memory.get(ValueLayout.JAVA_LONG, 4096));
    request(SendList.OP_COMPARE_AND_SWAP)
        .gather(region.address(), 8, region.lkey())
        .atomic(region.address() + 4096, region.rkey(), 41, 7);
    assertEquals(Completions.SUCCESS, execute());
    assertEquals(42, memory.get(ValueLayout.JAVA_LONG, 4096), "compared and differed");
    request(SendList.OP_COMPARE_AND_SWAP)
        .gather(region.address(), 8, region.lkey())
        .atomic(region.address() + 4096, region.rkey(), 42, 7);
    assertEquals(Completions.SUCCESS, execute());
    assertEquals(7, memory.get(ValueLayout.JAVA_LONG, 4096));
  }

  @Test
  void aMessageIsScatteredAndItsImmediateArrives() {
    memory.setString(0, "abcdefgh");
    receives
        .add(5)
        .scatter(region.address() + 1000, 3, region.lkey())
        .scatter(region.address() + 2000, 100, region.lkey());
    assertEquals(1, pair.b.postReceive(receives));
    request(SendList.OP_SEND_WITH_IMM)
        .gather(region.address(), 9, region.lkey())
        .withImmediate(0x89ABCDEF);
    assertEquals(Completions.SUCCESS, execute());
    assertEquals(1, pair.completionsB.poll(pair.batch));
    assertEquals(5, pair.batch.wrId(0));
    assertEquals(9, pair.batch.lengthBytes(0));
    assertEquals(2309737967L, Integer.toUnsignedLong(pair.batch.immediate(0)));
    assertEquals(Completions.FLAG_WITH_IMM, pair.batch.flags(0));
    assertEquals('c', memory.get(ValueLayout.JAVA_BYTE, 1002));
    assertEquals("defgh", memory.getString(2000));
  }

  @ParameterizedTest
  @CsvSource({"0, 8193, 0", "8192, 1, 0", "-1, 1, 0", "0, 8, 1"})
  void aWrongKeyOrBoundIsARemoteAccessErrorOnBothSides(long offset, int length, int keyOffset) {
    MemorySegment big = arena.allocate(16384, 4096);
    MemoryRegion source = pair.domain.registerMemory(big.address(), 16384, Access.LOCAL_READ);
    request(SendList.OP_RDMA_WRITE)
        .gather(source.address(), length, source.lkey())
        .remote(region.address() + offset, region.rkey() + 1000 * keyOffset);
    assertEquals(REMOTE_ACCESS_ERROR, execute());
    assertEquals(QueuePairState.ERR, pair.a.state());
    assertEquals(QueuePairState.ERR, pair.b.state());
    AsyncEvent event = pair.scripted.pollAsyncEvent();
    assertNotNull(event);
    assertEquals(AsyncEvent.Type.QP_ACCESS_ERR, event.type());
    assertEquals(pair.b, event.source());
    assertNull(pair.scripted.pollAsyncEvent());
    source.close();
  }

  @Test
  void aMessageWithoutAReceiveIsCountedAndFails() {
    request(SendList.OP_SEND).gather(region.address(), 1, region.lkey());
    assertEquals(RNR_RETRY_EXCEEDED, execute());
    assertEquals(1, pair.verbs.ledger().receiverNotReady());
  }

  @Test
  void placesAreFreeOnlyWhenTheirCompletionIsPolled() {
    for (int i = 0; i < RawPair.DEPTH; i++) {
      boolean last = i == RawPair.DEPTH - 1;
      sends.add(i, SendList.OP_RDMA_WRITE, last ? SendList.SIGNALED : 0);
    }
    assertEquals(RawPair.DEPTH, pair.a.postSend(sends));
    request(SendList.OP_RDMA_WRITE);
    assertEquals(0, pair.a.postSend(sends));
    assertEquals(Errno.ENOMEM, sends.errno());
    assertEquals(1, pair.completionsA.poll(pair.batch), "the last stands for all");
    assertEquals(Completions.SUCCESS, execute());
  }

  @Test
  void anOverrunQueueIsLostAndSaysSo() {
    for (int i = 0; i <= pair.completionsA.capacity(); i++) {
      pair.completionsA.inject(pair.a.number(), i, 0, 0);
    }
    AsyncEvent event = pair.scripted.pollAsyncEvent();
    assertNotNull(event);
    assertEquals(AsyncEvent.Type.CQ_ERR, event.type());
    assertThrows(VerbsException.class, () -> pair.completionsA.poll(pair.batch));
  }

  @Test
  void aKeyOfAnOlderMappingIsNoticed() {
    pair.scripted.declareMapping(memory.address(), 4096);
    MemoryRegion old = pair.domain.registerMemory(memory.address(), 4096, ALL);
    request(SendList.OP_RDMA_WRITE)
        .gather(old.address(), 8, old.lkey())
        .remote(old.address() + 64, old.rkey());
    assertEquals(Completions.SUCCESS, execute());
    assertEquals(0, pair.verbs.ledger().stalePosts());
    pair.scripted.declareMapping(memory.address(), 4096);
    request(SendList.OP_RDMA_WRITE)
        .gather(old.address(), 8, old.lkey())
        .remote(old.address() + 64, old.rkey());
    execute();
    assertTrue(pair.verbs.ledger().stalePosts() > 0);
    old.close();
  }

  @Test
  void whatIsLeftIsNamed() {
    var left = assertThrows(AssertionError.class, pair.verbs.ledger()::assertNothingLeft);
    assertTrue(String.valueOf(left.getMessage()).contains("QUEUE_PAIR=2"), left::getMessage);
    assertTrue(String.valueOf(left.getMessage()).contains("MEMORY_REGION=1"), left::getMessage);
  }
}
