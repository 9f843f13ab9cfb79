package io.rdma4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.VerbsException;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.DeviceInfo;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.PortAttributes;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.QueuePairState;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SendList;
import io.rdma4j.verbs.SharedReceiveQueue;
import io.rdma4j.verbs.Verbs;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The verbs binding on the kernel's own software devices. */
@Tag("lab")
@Timeout(value = 60, unit = TimeUnit.SECONDS)
final class VerbsDeviceLabTest {
  private static final Verbs VERBS = Verbs.system();

  @Test
  void listsBothDevices() {
    List<DeviceInfo> devices = VERBS.devices();
    assertEquals(
        List.of("rxe0 INFINIBAND true", "siw0 IWARP true"),
        devices.stream()
            .map(d -> d.name() + " " + d.transport() + " " + d.availability().usable())
            .toList());
    assertTrue(VERBS.availability().usable(), VERBS.availability().reason());
  }

  @Test
  void readsAttributesPortAndGids() {
    for (String name : List.of("rxe0", "siw0")) {
      try (Device device = VERBS.open(name)) {
        assertEquals(1, device.attributes().physicalPorts(), name);
        assertTrue(device.attributes().maxMemoryRegionBytes() > 0, name);
        assertTrue(device.attributes().completionVectors() > 0, name);
        PortAttributes port = device.port(1);
        assertEquals(PortAttributes.State.ACTIVE, port.state(), name);
        assertEquals(PortAttributes.LinkLayer.ETHERNET, port.linkLayer(), name);
        assertEquals(16, device.gid(1, 0).length, name);
      }
    }
  }

  @Test
  void playsPingPong() {
    try (Device device = VERBS.open("rxe0");
        Loopback loopback = new Loopback(device);
        SendList send = new SendList(1, 1);
        ReceiveList receive = new ReceiveList(1, 1)) {
      Loopback.Side a = loopback.a;
      Loopback.Side b = loopback.b;
      for (int i = 0; i < 100; i++) {
        Loopback.Side from = i % 2 == 0 ? a : b;
        Loopback.Side to = i % 2 == 0 ? b : a;
        receive.clear();
        receive.add(i).scatter(to.memory.address() + 4096, 64, to.region.lkey());
        assertEquals(1, to.queuePair.postReceive(receive));
        from.memory.set(ValueLayout.JAVA_INT, 0, 1000 + i);
        send.clear();
        send.add(i, SendList.OP_SEND, SendList.SIGNALED)
            .gather(from.memory.address(), 64, from.region.lkey());
        assertEquals(1, from.queuePair.postSend(send));
        assertEquals(1, to.await());
        assertEquals(Completions.SUCCESS, to.batch.status(0));
        assertEquals(i, to.batch.wrId(0));
        assertEquals(64, to.batch.lengthBytes(0));
        assertEquals(1000 + i, to.memory.get(ValueLayout.JAVA_INT, 4096));
        assertEquals(1, from.await());
        assertEquals(Completions.SUCCESS, from.batch.status(0));
      }
    }
  }

  /** Posts one request of {@code a} and returns its completion status. */
  private static int run(Loopback.Side a, SendList list) {
    assertEquals(list.size(), a.queuePair.postSend(list));
    assertEquals(1, a.await());
    return a.batch.status(0);
  }

  private static void receiveOn(Loopback.Side side, long wrId) {
    try (ReceiveList list = new ReceiveList(1, 1)) {
      list.add(wrId).scatter(side.memory.address() + 4096, 4096, side.region.lkey());
      assertEquals(1, side.queuePair.postReceive(list));
    }
  }

  @Test
  void writesReadsAndDeliversImmediates() {
    try (Device device = VERBS.open("rxe0");
        Loopback loopback = new Loopback(device);
        SendList list = new SendList(1, 1)) {
      Loopback.Side a = loopback.a;
      Loopback.Side b = loopback.b;
      long remote = b.memory.address();
      a.memory.asSlice(0, 256).fill((byte) 7);
      list.add(1, SendList.OP_RDMA_WRITE, SendList.SIGNALED)
          .gather(a.memory.address(), 256, a.region.lkey())
          .remote(remote, b.region.rkey());
      assertEquals(Completions.SUCCESS, run(a, list));
      assertEquals(-1, b.memory.asSlice(0, 256).mismatch(a.memory.asSlice(0, 256)));

      b.memory.asSlice(512, 100).fill((byte) 9);
      list.clear();
      list.add(2, SendList.OP_RDMA_READ, SendList.SIGNALED)
          .gather(a.memory.address() + 512, 100, a.region.lkey())
          .remote(remote + 512, b.region.rkey());
      assertEquals(Completions.SUCCESS, run(a, list));
      assertEquals(-1, a.memory.asSlice(512, 100).mismatch(b.memory.asSlice(512, 100)));

      for (int opcode : new int[] {SendList.OP_SEND_WITH_IMM, SendList.OP_RDMA_WRITE_WITH_IMM}) {
        receiveOn(b, 77);
        list.clear();
        list.add(3, opcode, SendList.SIGNALED).withImmediate(0x89abcdef);
        if (opcode == SendList.OP_RDMA_WRITE_WITH_IMM) {
          list.remote(remote, b.region.rkey());
        }
        assertEquals(Completions.SUCCESS, run(a, list));
        assertEquals(1, b.await());
        assertEquals(Completions.SUCCESS, b.batch.status(0));
        assertEquals(77, b.batch.wrId(0));
        assertEquals(0, b.batch.lengthBytes(0));
        assertEquals(0x89abcdef, b.batch.immediate(0));
        assertEquals(Completions.FLAG_WITH_IMM, b.batch.flags(0) & Completions.FLAG_WITH_IMM);
      }
    }
  }

  @Test
  void doesAtomics() {
    try (Device device = VERBS.open("rxe0");
        Loopback loopback = new Loopback(device);
        SendList list = new SendList(1, 1)) {
      Loopback.Side a = loopback.a;
      Loopback.Side b = loopback.b;
      b.memory.set(ValueLayout.JAVA_LONG, 64, 40L);
      list.add(1, SendList.OP_FETCH_AND_ADD, SendList.SIGNALED)
          .gather(a.memory.address(), 8, a.region.lkey())
          .atomic(b.memory.address() + 64, b.region.rkey(), 2, 0);
      assertEquals(Completions.SUCCESS, run(a, list));
      assertEquals(40, a.memory.get(ValueLayout.JAVA_LONG, 0));
      list.clear();
      list.add(2, SendList.OP_COMPARE_AND_SWAP, SendList.SIGNALED)
          .gather(a.memory.address(), 8, a.region.lkey())
          .atomic(b.memory.address() + 64, b.region.rkey(), 42, 4711);
      assertEquals(Completions.SUCCESS, run(a, list));
      assertEquals(42, a.memory.get(ValueLayout.JAVA_LONG, 0));
      assertEquals(4711, b.memory.get(ValueLayout.JAVA_LONG, 64));
    }
  }

  @Test
  void reportsAWrongKeyAsACompletion() {
    try (Device device = VERBS.open("rxe0");
        Loopback loopback = new Loopback(device);
        SendList list = new SendList(1, 1)) {
      Loopback.Side a = loopback.a;
      list.add(5, SendList.OP_RDMA_WRITE, SendList.SIGNALED)
          .gather(a.memory.address(), 8, a.region.lkey())
          .remote(loopback.b.memory.address(), loopback.b.region.rkey() + 0x100);
      assertEquals("remote access error", Completions.statusText(run(a, list)));
      assertEquals(5, a.batch.wrId(0));
      assertEquals(QueuePairState.ERR, a.queuePair.state());
    }
  }

  @Test
  void takesWhatFitsAndFlushesTheRest() {
    try (Device device = VERBS.open("rxe0");
        Loopback loopback = new Loopback(device);
        ReceiveList receives = new ReceiveList(4 * Loopback.DEPTH, 1)) {
      Loopback.Side a = loopback.a;
      for (int i = 0; i < receives.capacity(); i++) {
        receives.add(i).scatter(a.memory.address(), 64, a.region.lkey());
      }
      int taken = a.queuePair.postReceive(receives);
      assertTrue(taken >= Loopback.DEPTH && taken < receives.size(), "taken " + taken);
      assertEquals(12, receives.errno(), "ENOMEM: the queue is full");
      a.queuePair.toError();
      assertEquals(QueuePairState.ERR, a.queuePair.state());
      int flushed = 0;
      while (flushed < taken) {
        int polled = a.await();
        for (int i = 0; i < polled; i++) {
          assertEquals(Completions.FLUSHED, a.batch.status(i));
          assertEquals(flushed++, a.batch.wrId(i));
        }
      }
      assertEquals(0, a.completionQueue.poll(a.batch));
    }
  }

  @Test
  void raisesEventsWhenThePortGoesDownAndUp() throws Exception {
    try (Device device = VERBS.open("rxe0")) {
      while (device.pollAsyncEvent() != null) {
        // Left over from before.
      }
      Tool.run("ip", "link", "set", "v0", "down");
      awaitEvent(device, AsyncEvent.Type.PORT_ERR);
      assertEquals(PortAttributes.State.DOWN, device.port(1).state());
      Tool.run("ip", "link", "set", "v0", "up");
      awaitEvent(device, AsyncEvent.Type.PORT_ACTIVE);
      assertEquals(PortAttributes.State.ACTIVE, device.port(1).state());
    }
  }

  private static void awaitEvent(Device device, AsyncEvent.Type type) throws Exception {
    long deadlineNs = System.nanoTime() + 20_000_000_000L;
    while (System.nanoTime() < deadlineNs) {
      AsyncEvent event = device.pollAsyncEvent();
      if (event != null && event.type() == type) {
        assertEquals(1, event.port());
        return;
      }
      Thread.sleep(20);
    }
    throw new AssertionError("no " + type);
  }

  @Test
  void wakesAWaiterOnTheChannel() throws Exception {
    try (Device device = VERBS.open("rxe0");
        Loopback loopback = new Loopback(device);
        CompletionChannel channel = device.createCompletionChannel();
        CompletionQueue queue = device.createCompletionQueue(16, channel, 0);
        Completions batch = new Completions(4);
        ReceiveList receives = new ReceiveList(1, 1)) {
      assertFalse(channel.await(0));
      assertFalse(channel.await(20_000_000));
      QueuePair queuePair =
          loopback.domain.createQueuePair(new QueuePairConfig(queue, queue, 4, 4, 1, 1, 0, null));
      assertThrows(IllegalStateException.class, queue::close);
      assertThrows(IllegalStateException.class, channel::close);
      queuePair.toInit(1, 0);
      receives.add(1).scatter(loopback.a.memory.address(), 64, loopback.a.region.lkey());
      assertEquals(1, queuePair.postReceive(receives));
      queue.requestNotification(false);
      assertEquals(0, queue.poll(batch));
      CompletableFuture<Boolean> waiter =
          CompletableFuture.supplyAsync(() -> channel.await(20_000_000_000L));
      Thread.sleep(100);
      queuePair.toError();
      assertTrue(waiter.get(30, TimeUnit.SECONDS));
      assertEquals(1, queue.poll(batch));
      assertEquals(Completions.FLUSHED, batch.status(0));
      queuePair.close();
    }
  }

  @Test
  void receivesThroughASharedQueue() {
    try (Device device = VERBS.open("rxe0");
        ProtectionDomain domain = device.allocateProtectionDomain();
        Arena arena = Arena.ofConfined();
        ReceiveList receives = new ReceiveList(2, 1)) {
      MemorySegment memory = arena.allocate(4096, 4096);
      MemoryRegion region = domain.registerMemory(memory.address(), 4096, Loopback.ALL);
      try (SharedReceiveQueue srq = domain.createSharedReceiveQueue(8, 1)) {
        try (CompletionQueue queue = device.createCompletionQueue(16, null, 0);
            QueuePair queuePair =
                domain.createQueuePair(new QueuePairConfig(queue, queue, 4, 0, 1, 0, 0, srq))) {
          receives.add(1).scatter(memory.address(), 64, region.lkey());
          receives.add(2).scatter(memory.address() + 64, 64, region.lkey());
          assertEquals(2, srq.postReceive(receives));
          assertThrows(IllegalStateException.class, srq::close);
          assertEquals(QueuePairState.RESET, queuePair.state());
        }
      }
    }
  }

  @Test
  void givesTheInlineSizeTheDeviceCanDo() {
    try (Device device = VERBS.open("rxe0");
        Loopback loopback = new Loopback(device)) {
      CompletionQueue queue = loopback.a.completionQueue;
      QueuePairConfig greedy = new QueuePairConfig(queue, queue, 4, 4, 1, 1, 100_000, null);
      int got = loopback.domain.createQueuePair(greedy).maxInlineBytes();
      assertTrue(got >= 64 && got < 100_000, "inline " + got);
      QueuePairConfig exact = new QueuePairConfig(queue, queue, 4, 4, 1, 1, got, null);
      assertEquals(got, loopback.domain.createQueuePair(exact).maxInlineBytes());
    }
  }

  @Test
  void refusesWhatExceedsTheLimits() {
    try (Device device = VERBS.open("rxe0");
        Loopback loopback = new Loopback(device)) {
      int limit = device.attributes().maxCompletionQueueEntries();
      VerbsException e =
          assertThrows(
              VerbsException.class, () -> device.createCompletionQueue(limit + 1, null, 0));
      assertTrue(String.valueOf(e.getMessage()).contains(String.valueOf(limit)), e::toString);
      CompletionQueue queue = loopback.a.completionQueue;
      int depth = device.attributes().maxQueuePairWorkRequests() + 1;
      VerbsException deep =
          assertThrows(
              VerbsException.class,
              () ->
                  loopback.domain.createQueuePair(
                      new QueuePairConfig(queue, queue, depth, 4, 1, 1, 0, null)));
      assertTrue(String.valueOf(deep.getMessage()).contains("" + (depth - 1)), deep::toString);
      assertThrows(IllegalArgumentException.class, () -> device.port(2));
      assertThrows(VerbsException.class, () -> VERBS.open("nic9"));
      assertThrows(
          IllegalArgumentException.class,
          () -> loopback.domain.registerMemory(loopback.a.memory.address(), 0, 0));
      assertThrows(
          IllegalArgumentException.class,
          () ->
              loopback.domain.registerMemory(loopback.a.memory.address(), 8, Access.REMOTE_WRITE));
      VerbsException unmapped =
          assertThrows(
              VerbsException.class,
              () -> loopback.domain.registerMemory(4096, 4096, Access.LOCAL_WRITE));
      assertEquals(14, unmapped.errno(), "EFAULT");
    }
  }

  @Test
  void registersAnyLengthAndOptionalRights() {
    try (Device device = VERBS.open("rxe0");
        ProtectionDomain domain = device.allocateProtectionDomain();
        Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(1 << 20, 4096);
      for (long length : new long[] {1, 4095, 4096, 4097, 1 << 20}) {
        try (MemoryRegion region =
            domain.registerMemory(memory.address(), length, Access.LOCAL_WRITE)) {
          assertEquals(length, region.lengthBytes());
        }
      }
      int relaxed = Access.LOCAL_WRITE | Access.RELAXED_ORDERING;
      try (MemoryRegion region = domain.registerMemory(memory.address(), 4096, relaxed)) {
        assertEquals(memory.address(), region.address());
      }
    }
  }

  @Test
  void keepsTheDomainUntilTheLastUserOfARegionLetsGo() throws Exception {
    String before = Tool.run("rdma", "resource", "show");
    Device device = VERBS.open("rxe0");
    ProtectionDomain domain = device.allocateProtectionDomain();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(4096, 4096);
      MemoryRegion region = domain.registerMemory(memory.address(), 4096, Access.LOCAL_WRITE);
      assertTrue(region.retain());
      device.close();
      assertFalse(region.isDeregistered());
      region.release();
      assertTrue(region.isDeregistered());
    }
    assertEquals(before, Tool.run("rdma", "resource", "show"));
    assertThrows(IllegalStateException.class, () -> domain.createSharedReceiveQueue(1, 1));
  }

  @Test
  void sharesADeviceAmongItsOpeners() {
    Device first = VERBS.open("rxe0");
    Device second = VERBS.open("rxe0");
    assertSame(first, second);
    ProtectionDomain domain = second.allocateProtectionDomain();
    first.close();
    domain.createSharedReceiveQueue(4, 1);
    second.close();
    assertThrows(IllegalStateException.class, () -> domain.createSharedReceiveQueue(4, 1));
    second.close();
  }

  @Test
  void namesTheLockedMemoryLimitWhenItIsHit() throws Exception {
    String output =
        Tool.run(
            "prlimit",
            "--memlock=1048576:1048576",
            "setpriv",
            "--bounding-set=-ipc_lock",
            "--inh-caps=-ipc_lock",
            ProcessHandle.current().info().command().orElseThrow(),
            "-XX:TieredStopAtLevel=1",
            "--enable-native-access=ALL-UNNAMED",
            "-cp",
            System.getProperty("java.class.path"),
            LockedMemory.class.getName());
    assertTrue(output.contains("ENOMEM 12"), output);
    assertTrue(output.contains("limit of this process 1048576 bytes"), output);
    assertTrue(output.contains("asked for 2097152 bytes"), output);
    assertTrue(output.contains("already pinned by memory regions 524288 bytes"), output);
  }
}
