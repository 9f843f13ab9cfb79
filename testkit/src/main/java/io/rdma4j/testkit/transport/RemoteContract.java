package io.rdma4j.testkit.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.testkit.AllocationMeter;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.ExportedRegion;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.NodeConfig.Threading;
import io.rdma4j.transport.RegionDescriptor;
import io.rdma4j.transport.RemoteHandler;
import io.rdma4j.transport.RemoteOperation;
import io.rdma4j.transport.RequestFailedException;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One-sided operations on exported memory: what they do, and what they must never reach. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class RemoteContract extends TransportFixture {
  private static final int EVERYTHING =
      MemoryAccess.LOCAL_WRITE
          | MemoryAccess.REMOTE_READ
          | MemoryAccess.REMOTE_WRITE
          | MemoryAccess.REMOTE_ATOMIC;
  private static final long LONG_NS = 60 * SECOND_NS;

  private final Arena arena = Arena.ofShared();

  /** Creates the suite. */
  protected RemoteContract() {}

  /** A loaded machine must not be taken for a peer that does not let go. */
  @Override
  protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
    return super.configure(builder).closeTimeout(Duration.ofSeconds(5));
  }

  @AfterEach
  void closeArena() {
    // The nodes are closed by then or have no way to the memory: each test closes its regions.
    if (arena.scope().isAlive()) {
      arena.close();
    }
  }

  private record Immediate(int value, int lengthBytes, byte firstByte) {}

  /** Notes immediate data, with what the exported memory holds at that moment. */
  private static final class Exporter implements ConnectionHandler {
    final Queue<Immediate> immediates = new ConcurrentLinkedQueue<>();
    final MemorySegment memory;

    Exporter(MemorySegment memory) {
      this.memory = memory;
    }

    @Override
    public void onMessage(Connection connection, Message message) {}

    @Override
    public void onImmediate(Connection connection, int immediate, int lengthBytes) {
      immediates.add(new Immediate(immediate, lengthBytes, memory.get(JAVA_BYTE, 0)));
    }
  }

  /** The descriptor as a peer gets it: through bytes. */
  private static RegionDescriptor sent(ExportedRegion region) {
    MemorySegment wire = MemorySegment.ofArray(new byte[RegionDescriptor.BYTES + 3]);
    region.descriptor().write(wire, 3);
    RegionDescriptor arrived = RegionDescriptor.read(wire, 3);
    assertEquals(region.descriptor(), arrived);
    return arrived;
  }

  private static void assertRefused(Cause cause, Runnable operation) {
    RequestFailedException failure = assertThrows(RequestFailedException.class, operation::run);
    assertEquals(cause, failure.failure(), failure.toString());
  }

  /** Field case O-18: also those of no bytes at all, on every path. */
  @Test
  void readsAndWritesOfEverySizeAreExact() {
    MemorySegment memory = arena.allocate(256 * 1024, 8);
    Node server = closeLater(server(new Exporter(memory), Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    RemoteOperation operation = connection.newRemoteOperation(null);
    int max = operation.maxTransferBytes();
    try (ExportedRegion region = server.export(memory, EVERYTHING)) {
      RegionDescriptor remote = sent(region);
      int[] sizes = {0, 1, 7, 8, 63, 64, 65, 4096, max / 2, max - 1, max};
      for (int size : sizes) {
        memory.fill((byte) 0);
        byte[] bytes = pattern(size, size);
        int at = 64 + size % 13;
        assertTrue(
            operation.write(remote, at, MemorySegment.ofArray(bytes), 0, size, LONG_NS) >= 0);
        operation.await();
        assertArrayEquals(bytes, memory.asSlice(at, size).toArray(JAVA_BYTE));
        assertEquals(0, memory.get(JAVA_BYTE, at - 1), "before it");
        assertEquals(0, memory.get(JAVA_BYTE, at + size), "behind it");
        byte[] back = new byte[size + 2];
        assertTrue(operation.read(remote, at, MemorySegment.ofArray(back), 1, size, LONG_NS) >= 0);
        operation.await();
        assertEquals(0, back[0]);
        assertEquals(0, back[size + 1]);
        assertArrayEquals(
            bytes, java.util.Arrays.copyOfRange(back, 1, size + 1), size + " bytes read");
      }
      assertThrows(
          IllegalArgumentException.class,
          () -> operation.read(remote, 0, memory, 0, max + 1, LONG_NS));
      assertTrue(operation.isDone());
    }
  }

  /** Field case O-18: 32 bits as they are, and 0 is not none, on every path. */
  @Test
  void immediateDataComesAfterWhatWasWritten() throws InterruptedException {
    MemorySegment memory = arena.allocate(64, 8);
    Exporter exporter = new Exporter(memory);
    Node server = closeLater(server(exporter, Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    RemoteOperation operation = connection.newRemoteOperation(null);
    try (ExportedRegion region = server.export(memory, EVERYTHING)) {
      RegionDescriptor remote = sent(region);
      MemorySegment source = MemorySegment.ofArray(new byte[] {42});
      operation.writeImmediate(remote, 0, source, 0, 1, 0x89ABCDEF, LONG_NS);
      operation.await();
      operation.writeImmediate(remote, 0, source, 0, 0, 0, LONG_NS);
      operation.await();
      operation.write(remote, 0, source, 0, 1, LONG_NS);
      operation.await();
      eventually("both", () -> exporter.immediates.size() == 2);
      assertEquals(new Immediate(0x89ABCDEF, 1, (byte) 42), exporter.immediates.remove());
      assertEquals(new Immediate(0, 0, (byte) 42), exporter.immediates.remove());
      assertEquals(2309737967L, Integer.toUnsignedLong(0x89ABCDEF));
    }
  }

  @Test
  void atomicsAreAtomic() throws InterruptedException {
    MemorySegment memory = arena.allocate(16, 8);
    Node server = closeLater(server(new Exporter(memory), Threading.DEDICATED));
    try (ExportedRegion region = server.export(memory, EVERYTHING)) {
      RegionDescriptor remote = sent(region);
      int threads = 3;
      int each = 300;
      List<Thread> adders = new ArrayList<>();
      AtomicInteger swaps = new AtomicInteger();
      for (int t = 0; t < threads; t++) {
        Node client = closeLater(client(Threading.DEDICATED));
        Connection connection = client.connect(at(server), new Mailbox());
        adders.add(Thread.ofVirtual().start(() -> addAndSwap(connection, remote, each, swaps)));
      }
      var word = JAVA_LONG.varHandle();
      for (int i = 0; i < 100_000; i++) {
        long ignored = (long) word.getAndAdd(memory, 0L, 1L);
      }
      for (Thread adder : adders) {
        adder.join();
      }
      assertEquals(100_000 + 3L * threads * each, memory.get(JAVA_LONG, 0));
      assertEquals(swaps.get(), memory.get(JAVA_LONG, 8), "each successful swap counts once");
      assertTrue(swaps.get() > 0);
    }
  }

  private static void addAndSwap(
      Connection connection, RegionDescriptor remote, int times, AtomicInteger swaps) {
    RemoteOperation operation = connection.newRemoteOperation(null);
    long seen = 0;
    for (int i = 0; i < times; i++) {
      operation.fetchAdd(remote, 0, 3, LONG_NS);
      operation.await();
      operation.compareAndSwap(remote, 8, seen, seen + 1, LONG_NS);
      long before = operation.await();
      if (before == seen) {
        swaps.incrementAndGet();
        seen++;
      } else {
        seen = before;
      }
    }
  }

  @Test
  void whatWasNotGrantedIsRefusedHereAndThere() {
    MemorySegment memory = arena.allocate(128, 8);
    MemorySegment exported = memory.asSlice(32, 64);
    Node server = closeLater(server(new Exporter(memory), Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    RemoteOperation operation = connection.newRemoteOperation(null);
    MemorySegment local = MemorySegment.ofArray(new byte[256]);
    ExportedRegion region = server.export(exported, MemoryAccess.REMOTE_READ);
    RegionDescriptor remote = sent(region);
    // This side refuses what the descriptor does not say.
    long[] offsets = {-1, 1, 64, 65, Long.MAX_VALUE, Long.MIN_VALUE};
    for (long offset : offsets) {
      assertRefused(
          Cause.REMOTE_ACCESS, () -> operation.read(remote, offset, local, 0, 64, LONG_NS));
    }
    assertRefused(Cause.REMOTE_ACCESS, () -> operation.write(remote, 0, local, 0, 8, LONG_NS));
    assertRefused(Cause.REMOTE_ACCESS, () -> operation.fetchAdd(remote, 0, 1, LONG_NS));
    // A peer that lies about it meets the other side's check.
    RegionDescriptor forged = new RegionDescriptor(remote.id(), 1L << 40, EVERYTHING);
    Runnable[] lies = {
      () -> operation.read(forged, 1, local, 0, 64, LONG_NS),
      () -> operation.read(forged, (1L << 40) - 64, local, 0, 64, LONG_NS),
      () -> operation.write(forged, 0, local, 0, 8, LONG_NS),
      () -> operation.writeImmediate(forged, 0, local, 0, 8, 7, LONG_NS),
      () -> operation.fetchAdd(forged, 0, 1, LONG_NS),
      () -> operation.compareAndSwap(forged, 0, 0, 1, LONG_NS),
      () -> operation.read(guessed(remote, 1), 0, local, 0, 8, LONG_NS),
      () -> operation.read(guessed(remote, 1L << 20), 0, local, 0, 8, LONG_NS),
    };
    for (Runnable lie : lies) {
      lie.run();
      assertRefused(Cause.REMOTE_ACCESS, operation::await);
    }
    for (int i = 0; i < 128; i++) {
      assertEquals(0, memory.get(JAVA_BYTE, i), "nothing was written");
    }
    assertTrue(connection.isOpen(), "a refusal costs the operation, not the connection");
    region.close();
    operation.read(remote, 0, local, 0, 8, LONG_NS);
    assertRefused(Cause.REMOTE_ACCESS, operation::await);
    try (ExportedRegion atomics = server.export(memory, EVERYTHING)) {
      operation.fetchAdd(sent(atomics), 4, 1, LONG_NS);
      assertRefused(Cause.REMOTE_ACCESS, operation::await);
    }
  }

  private static RegionDescriptor guessed(RegionDescriptor real, long difference) {
    return new RegionDescriptor(real.id() + difference, real.lengthBytes(), EVERYTHING);
  }

  @Test
  void onlyWhatCanBeReachedCanBeExported() {
    Node server = closeLater(server(new Mailbox(), Threading.DEDICATED));
    MemorySegment memory = arena.allocate(64, 8);
    assertThrows(
        IllegalArgumentException.class,
        () -> server.export(MemorySegment.ofArray(new byte[64]), EVERYTHING));
    assertThrows(
        IllegalArgumentException.class, () -> server.export(memory, MemoryAccess.LOCAL_WRITE));
    assertThrows(
        IllegalArgumentException.class, () -> server.export(memory, MemoryAccess.REMOTE_WRITE));
    assertThrows(
        IllegalArgumentException.class, () -> server.export(memory.asReadOnly(), EVERYTHING));
    try (Arena confined = Arena.ofConfined()) {
      MemorySegment mine = confined.allocate(64);
      assertThrows(IllegalArgumentException.class, () -> server.export(mine, EVERYTHING));
    }
    MemorySegment noDescriptor = MemorySegment.ofArray(new byte[RegionDescriptor.BYTES]);
    assertThrows(IllegalArgumentException.class, () -> RegionDescriptor.read(noDescriptor, 0));
  }

  /** Memory is unmapped right after the region was closed, with operations on their way to it. */
  @Test
  void aClosedRegionIsReachedByNobody() throws InterruptedException {
    Node server = closeLater(server(new Mailbox(), Threading.DEDICATED));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    for (int round = 0; round < 20; round++) {
      AtomicInteger done = new AtomicInteger();
      AtomicInteger refused = new AtomicInteger();
      List<String> other = new CopyOnWriteArrayList<>();
      RemoteHandler handler =
          new RemoteHandler() {
            @Override
            public void onDone(RemoteOperation operation, long value) {
              done.incrementAndGet();
            }

            @Override
            public void onFailure(RemoteOperation operation, Cause cause, String message) {
              if (cause == Cause.REMOTE_ACCESS) {
                refused.incrementAndGet();
              } else {
                other.add(cause + ": " + message);
              }
            }
          };
      int started = 0;
      try (Arena memory = Arena.ofShared()) {
        ExportedRegion region = server.export(memory.allocate(64 * 1024, 8), EVERYTHING);
        RegionDescriptor remote = sent(region);
        MemorySegment source = MemorySegment.ofArray(new byte[1024]);
        for (int i = 0; i < 40; i++) {
          RemoteOperation operation = connection.newRemoteOperation(handler);
          if (operation.write(remote, i * 1024L, source, 0, 1024, LONG_NS) >= 0) {
            started++;
          }
          if (i == 20) {
            region.close();
          }
        }
      }
      int all = started;
      eventually("all ends", () -> done.get() + refused.get() + other.size() == all && all > 0);
      assertEquals(List.of(), other);
      assertTrue(connection.isOpen());
    }
  }

  /** The peer answers a read long after its deadline: the target is somebody else's by then. */
  @Test
  void aReadThatTimedOutWritesNothingAnyMore() throws InterruptedException {
    MemorySegment memory = arena.allocate(64, 8);
    memory.fill((byte) 0x5A);
    Node server = closeLater(server(new Exporter(memory), Threading.INVOKER));
    Node client = closeLater(client(Threading.DEDICATED));
    Connection connection = client.connect(at(server), new Mailbox());
    RemoteOperation operation = connection.newRemoteOperation(null);
    byte[] target = new byte[64];
    try (ExportedRegion region = server.export(memory, EVERYTHING)) {
      RegionDescriptor remote = sent(region);
      operation.read(remote, 0, MemorySegment.ofArray(target), 0, 64, 30_000_000L);
      assertRefused(Cause.DEADLINE, operation::await);
      eventually(
          "the late answer",
          () -> {
            server.poll();
            return client.status().lateReplies() == 1;
          });
      assertArrayEquals(new byte[64], target);
    }
    assertEquals(0, connection.status().requestsOutstanding());
  }

  /** More operations at once than the path has room for answers. */
  @Test
  void answersWaitForRoom() throws InterruptedException {
    MemorySegment memory = arena.allocate(64 * 1024, 8);
    byte[] content = pattern(64 * 1024, 3);
    MemorySegment.copy(content, 0, memory, JAVA_BYTE, 0, content.length);
    Node server = closeLater(server(new Exporter(memory), Threading.INVOKER));
    Node client = closeLater(client(Threading.INVOKER));
    Connection connection = client.connect(at(server), new Mailbox());
    int count = 200;
    int size = 32 * 1024;
    byte[][] targets = new byte[count][size];
    AtomicInteger done = new AtomicInteger();
    RemoteHandler handler =
        new RemoteHandler() {
          @Override
          public void onDone(RemoteOperation operation, long value) {
            done.incrementAndGet();
          }

          @Override
          public void onFailure(RemoteOperation operation, Cause cause, String message) {
            throw new AssertionError(message);
          }
        };
    try (ExportedRegion region = server.export(memory, EVERYTHING)) {
      RegionDescriptor remote = sent(region);
      for (int i = 0; i < count; i++) {
        RemoteOperation operation = connection.newRemoteOperation(handler);
        MemorySegment target = MemorySegment.ofArray(targets[i]);
        while (operation.read(remote, i, target, 0, size, LONG_NS) == SendResult.BACK_PRESSURED) {
          server.poll(); // only the server: its answers find no room after a while
          if (server.poll() == 0) {
            client.poll();
          }
        }
      }
      eventually(
          "all answers",
          () -> {
            while (server.poll() + client.poll() > 0) {
              Thread.onSpinWait();
            }
            return done.get() == count;
          });
    }
    for (int i = 0; i < count; i++) {
      assertArrayEquals(
          java.util.Arrays.copyOfRange(content, i, i + size), targets[i], "read " + i);
    }
  }

  /** Both ends in one thread, so that all garbage is counted. */
  @Test
  void noGarbagePerOperation() {
    MemorySegment memory = arena.allocate(4096, 8);
    Node server = closeLater(server(new Exporter(memory), Threading.INVOKER));
    Node client = closeLater(client(Threading.INVOKER));
    Connection connection = client.connect(at(server), new Mailbox());
    RemoteOperation operation = connection.newRemoteOperation(null);
    MemorySegment local = MemorySegment.ofArray(new byte[64]);
    try (ExportedRegion region = server.export(memory, EVERYTHING)) {
      RegionDescriptor remote = sent(region);
      Runnable three =
          () -> {
            operation.write(remote, 64, local, 0, 64, LONG_NS);
            finish(operation, server, client);
            operation.read(remote, 64, local, 0, 64, LONG_NS);
            finish(operation, server, client);
            operation.fetchAdd(remote, 0, 1, LONG_NS);
            finish(operation, server, client);
          };
      double perOperation = AllocationMeter.bytesPerOperation(10_000, 5_000, three) / 3;
      System.out.printf("%s: %.4f bytes of garbage per operation%n", path(), perOperation);
      assertTrue(perOperation < AllocationMeter.NONE, perOperation + " bytes per operation");
      assertTrue(memory.get(JAVA_LONG, 0) > 0);
    }
  }

  private static void finish(RemoteOperation operation, Node server, Node client) {
    while (!operation.isDone()) {
      server.poll();
      client.poll();
    }
    operation.await();
  }
}
