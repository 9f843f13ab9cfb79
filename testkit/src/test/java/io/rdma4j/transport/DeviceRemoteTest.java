package io.rdma4j.transport;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.testkit.transport.Mailbox;
import io.rdma4j.testkit.verbs.ScriptedDevice;
import io.rdma4j.testkit.verbs.ScriptedQueuePair;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import io.rdma4j.transport.RequestFailedException.Cause;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.DeviceAttributes.Atomics;
import io.rdma4j.verbs.DeviceInfo;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One-sided operations that the device carries out: what it does, and what becomes of it. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class DeviceRemoteTest {
  private static final int EVERYTHING =
      MemoryAccess.LOCAL_WRITE
          | MemoryAccess.REMOTE_READ
          | MemoryAccess.REMOTE_WRITE
          | MemoryAccess.REMOTE_ATOMIC;
  private static final int REMOTE = Access.REMOTE_READ | Access.REMOTE_WRITE | Access.REMOTE_ATOMIC;
  private static final long LONG_NS = 60_000_000_000L;

  private final ScriptedVerbs verbs = new ScriptedVerbs();
  private final ScriptedDevice device =
      verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory = arena.allocate(1 << 16, 8);
  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void nothingIsLeft() {
    nodes.reversed().forEach(Node::close);
    verbs.ledger().assertNothingLeft();
    arena.close();
  }

  private NodeConfig.Builder config(String... paths) {
    return NodeConfig.builder()
        .verbs(verbs)
        .paths(paths)
        .handshakeTimeout(Duration.ofSeconds(20))
        .closeTimeout(Duration.ofSeconds(20));
  }

  private Node server(NodeConfig.Builder config, ConnectionHandler handler) {
    Node node =
        Node.start(
            config
                .listen(
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), (p, w) -> handler)
                .build());
    nodes.add(node);
    return node;
  }

  private Connection connect(NodeConfig.Builder config, Node server) {
    Node client = Node.start(config.build());
    nodes.add(client);
    return client.connect(Objects.requireNonNull(server.listenAddress()), new Mailbox());
  }

  private static void await(String what, BooleanSupplier condition) throws InterruptedException {
    for (int waitMs = 0; !condition.getAsBoolean(); waitMs += 2) {
      assertTrue(waitMs < 60_000, "not within 60 s: " + what);
      Thread.sleep(2);
    }
  }

  /** Works on a region until the device does it. */
  private void warmUp(RemoteOperation operation, RegionDescriptor region)
      throws InterruptedException {
    MemorySegment local = MemorySegment.ofArray(new byte[8]);
    long before = verbs.ledger().remoteReads();
    await(
        "the device reads",
        () -> {
          operation.read(region, 0, local, 0, 8, LONG_NS);
          operation.await();
          return verbs.ledger().remoteReads() > before;
        });
  }

  /** Returns the queue pair of the client, whose node was started last. */
  private ScriptedQueuePair startingEnd() {
    return device.queuePairs().getLast();
  }

  private static void assertFails(Cause cause, RemoteOperation operation) {
    RequestFailedException failure = assertThrows(RequestFailedException.class, operation::await);
    assertEquals(cause, failure.failure(), failure.toString());
  }

  @Test
  void onlyExportedMemoryHasRemoteRightsAndOnlyUntilItIsClosed() throws InterruptedException {
    Node server = server(config("verbs"), new Mailbox());
    Connection connection = connect(config("verbs"), server);
    for (int access : verbs.ledger().registeredAccess()) {
      assertEquals(0, access & REMOTE, "pool and slots");
    }
    RemoteOperation operation = connection.newRemoteOperation(null);
    ExportedRegion region = server.export(memory, EVERYTHING);
    List<Integer> access = verbs.ledger().registeredAccess();
    assertEquals(REMOTE, access.getLast() & REMOTE);
    warmUp(operation, region.descriptor());
    MemorySegment source = MemorySegment.ofArray(new byte[] {1, 2, 3});
    operation.write(region.descriptor(), 5, source, 0, 3, LONG_NS);
    operation.await();
    assertEquals(2, memory.get(JAVA_BYTE, 6));
    operation.fetchAdd(region.descriptor(), 64, 40, LONG_NS);
    assertEquals(0, operation.await());
    operation.compareAndSwap(region.descriptor(), 64, 40, -7, LONG_NS);
    assertEquals(40, operation.await());
    operation.compareAndSwap(region.descriptor(), 64, 40, 1, LONG_NS);
    assertEquals(-7, operation.await());
    assertEquals(-7, memory.get(JAVA_LONG, 64));
    assertEquals(1, verbs.ledger().remoteWrites());
    assertEquals(3, verbs.ledger().remoteAtomics());
    region.close();
    assertTrue(verbs.ledger().deregisteredAddresses().contains(memory.address()));
    operation.read(region.descriptor(), 0, source, 0, 3, LONG_NS);
    assertFails(Cause.REMOTE_ACCESS, operation);
    assertTrue(connection.isOpen());
  }

  private record Seen(int immediate, int lengthBytes, byte content) {}

  @Test
  void immediateDataOfTheDeviceKeepsItsPlaceAmongMessages() throws InterruptedException {
    Queue<Object> seen = new ConcurrentLinkedQueue<>();
    Node server =
        server(
            config("verbs"),
            new ConnectionHandler() {
              @Override
              public void onMessage(Connection connection, Message message) {
                seen.add(message.memory().get(JAVA_BYTE, message.offset()));
              }

              @Override
              public void onImmediate(Connection connection, int immediate, int lengthBytes) {
                seen.add(new Seen(immediate, lengthBytes, memory.get(JAVA_BYTE, immediate)));
              }
            });
    Connection connection = connect(config("verbs"), server);
    RemoteOperation operation = connection.newRemoteOperation(null);
    try (ExportedRegion region = server.export(memory, EVERYTHING)) {
      warmUp(operation, region.descriptor());
      int rounds = 300; // several windows of credits
      for (int i = 0; i < rounds; i++) {
        MemorySegment source = MemorySegment.ofArray(new byte[] {(byte) i});
        assertTrue(connection.send(source, 0, 1, LONG_NS) >= 0);
        while (operation.writeImmediate(region.descriptor(), i, source, 0, 1, i, LONG_NS) < 0) {
          Thread.onSpinWait();
        }
        operation.await();
      }
      await("all", () -> seen.size() == 2 * rounds);
      for (int i = 0; i < rounds; i++) {
        assertEquals((byte) i, seen.remove());
        assertEquals(new Seen(i, 1, (byte) i), seen.remove());
      }
      assertEquals(rounds, verbs.ledger().remoteWrites());
      assertEquals(0, verbs.ledger().receiverNotReady());
    }
  }

  /** The target of a read stays the operation's until the device has let go of it. */
  @Test
  void aReadIntoThePoolGoesStraightAndEndsWithTheDevice() throws InterruptedException {
    memory.fill((byte) 0x5A);
    Node server = server(config("verbs"), new Mailbox());
    Connection connection = connect(config("verbs"), server);
    RemoteOperation operation = connection.newRemoteOperation(null);
    long receives = usedBlocks();
    try (ExportedRegion region = server.export(memory, EVERYTHING);
        RegisteredBuffer target = nodes.getLast().pool().allocate(4096)) {
      warmUp(operation, region.descriptor());
      target.segment().fill((byte) 0);
      operation.read(region.descriptor(), 8, target.segment(), 16, 1000, LONG_NS);
      operation.await();
      assertEquals(0, target.segment().get(JAVA_BYTE, 15));
      assertEquals(0x5A, target.segment().get(JAVA_BYTE, 16));
      assertEquals(0x5A, target.segment().get(JAVA_BYTE, 1015));
      assertEquals(0, target.segment().get(JAVA_BYTE, 1016));
      ScriptedQueuePair pair = startingEnd();
      pair.stall();
      operation.read(region.descriptor(), 0, target.segment(), 0, 8, 1_000_000L);
      await("no block but the target is used", () -> usedBlocks() == receives + 1);
      Thread.sleep(200); // ten rounds of the thread that finds deadlines
      assertFalse(operation.isDone(), "the device may still write");
      pair.resume();
      assertFails(Cause.DEADLINE, operation);
      // Elsewhere the deadline counts: the device writes into a block that is nobody's target.
      byte[] heap = new byte[8];
      pair.stall();
      operation.read(region.descriptor(), 0, MemorySegment.ofArray(heap), 0, 8, 1_000_000L);
      assertFails(Cause.DEADLINE, operation);
      pair.resume();
      await("the late end", () -> nodes.getLast().status().lateReplies() == 1);
      assertEquals(0, heap[0]);
    }
  }

  private long usedBlocks() {
    return nodes.getLast().pool().statistics().classes().stream()
        .mapToLong(each -> each.usedBlocks())
        .sum();
  }

  @Test
  void aCloseWaitsForWhatTheDeviceHasBegun() throws InterruptedException {
    Node server = server(config("verbs"), new Mailbox());
    Connection connection = connect(config("verbs"), server);
    RemoteOperation operation = connection.newRemoteOperation(null);
    ExportedRegion region = server.export(memory, EVERYTHING);
    warmUp(operation, region.descriptor());
    ScriptedQueuePair pair = startingEnd();
    pair.stall();
    MemorySegment source = MemorySegment.ofArray(new byte[] {7});
    operation.write(region.descriptor(), 0, source, 0, 1, LONG_NS);
    Thread closer = Thread.ofPlatform().start(region::close);
    RemoteOperation late = connection.newRemoteOperation(null);
    // The peer has heard of it when it starts nothing more at the device.
    long before = verbs.ledger().remoteReads();
    await("the closer waits", () -> closer.getState() == Thread.State.TIMED_WAITING);
    assertEquals(before, verbs.ledger().remoteReads());
    assertTrue(closer.isAlive());
    pair.resume();
    operation.await();
    closer.join();
    assertEquals(7, memory.get(JAVA_BYTE, 0));
    late.read(region.descriptor(), 0, source, 0, 1, LONG_NS);
    assertFails(Cause.REMOTE_ACCESS, late);
    assertTrue(connection.isOpen());
  }

  /** A peer that does not let go in time loses the path, and the operation says why. */
  @Test
  void memoryThatIsTakenAwayIsARefusalOfTheDevice() throws InterruptedException {
    Node server = server(config("verbs").closeTimeout(Duration.ofMillis(50)), new Mailbox());
    Connection connection = connect(config("verbs"), server);
    RemoteOperation operation = connection.newRemoteOperation(null);
    ExportedRegion region = server.export(memory, EVERYTHING);
    warmUp(operation, region.descriptor());
    ScriptedQueuePair pair = startingEnd();
    pair.stall();
    operation.write(region.descriptor(), 0, MemorySegment.ofArray(new byte[] {7}), 0, 1, LONG_NS);
    region.close();
    pair.resume();
    assertFails(Cause.REMOTE_ACCESS, operation);
    assertEquals(0, memory.get(JAVA_BYTE, 0));
    await("the end", () -> !connection.isOpen());
  }

  @Test
  void underAPathThatEndsReadsAreAskedAgainAndWritesHaveAnUnknownOutcome()
      throws InterruptedException {
    memory.fill((byte) 0x5A);
    Duration settle = Duration.ofMillis(200);
    NodeConfig.Builder both =
        config("verbs", "tcp")
            .backoff(Duration.ofMillis(20), Duration.ofMillis(200))
            .resume(Duration.ofSeconds(40), settle);
    Node server = server(both, new Mailbox());
    Connection connection =
        connect(
            config("verbs", "tcp")
                .backoff(Duration.ofMillis(20), Duration.ofMillis(200))
                .resume(Duration.ofSeconds(40), settle),
            server);
    RemoteOperation reads = connection.newRemoteOperation(null);
    RemoteOperation inPlace = connection.newRemoteOperation(null);
    RemoteOperation writes = connection.newRemoteOperation(null);
    RemoteOperation adds = connection.newRemoteOperation(null);
    try (ExportedRegion region = server.export(memory, EVERYTHING);
        RegisteredBuffer target = nodes.getLast().pool().allocate(64)) {
      warmUp(reads, region.descriptor());
      ScriptedQueuePair pair = startingEnd();
      target.segment().fill((byte) 0);
      byte[] heap = new byte[8];
      pair.stall();
      reads.read(region.descriptor(), 0, MemorySegment.ofArray(heap), 0, 8, LONG_NS);
      inPlace.read(region.descriptor(), 0, target.segment(), 0, 8, LONG_NS);
      writes.write(region.descriptor(), 8, MemorySegment.ofArray(heap), 0, 8, LONG_NS);
      adds.fetchAdd(region.descriptor(), 16, 1, LONG_NS);
      pair.cut();
      pair.resume();
      assertFails(Cause.OUTCOME_UNKNOWN, writes);
      assertFails(Cause.OUTCOME_UNKNOWN, adds);
      reads.await();
      inPlace.await();
      assertEquals(0x5A, heap[7]);
      assertEquals(0x5A, target.segment().get(JAVA_BYTE, 7));
      assertTrue(connection.pathChanges() > 0);
      writes.write(region.descriptor(), 8, MemorySegment.ofArray(new byte[8]), 0, 8, LONG_NS);
      writes.await();
      assertEquals(0, memory.get(JAVA_LONG, 8));
    }
  }

  @Test
  void atomicsThatAreNotAtomicTowardsProcessorsGoByMessageAndTheStatusSaysSo()
      throws InterruptedException {
    device.limits().atomics = Atomics.DEVICE;
    Node server = server(config("verbs"), new Mailbox());
    Connection connection = connect(config("verbs"), server);
    RemoteOperation operation = connection.newRemoteOperation(null);
    try (ExportedRegion region = server.export(memory, EVERYTHING)) {
      warmUp(operation, region.descriptor());
      for (int i = 0; i < 10; i++) {
        operation.fetchAdd(region.descriptor(), 0, 1, LONG_NS);
        assertEquals(i, operation.await());
      }
      assertEquals(0, verbs.ledger().remoteAtomics());
    }
    String path = connection.status().path().toString();
    assertTrue(path.contains("atomics by message"), path);
  }

  @Test
  void onWarpEverythingGoesByMessage() {
    device.transport(DeviceInfo.Transport.IWARP);
    Node server = server(config("verbs"), new Mailbox());
    Connection connection = connect(config("verbs"), server);
    RemoteOperation operation = connection.newRemoteOperation(null);
    try (ExportedRegion region = server.export(memory, EVERYTHING)) {
      MemorySegment local = MemorySegment.ofArray(new byte[8]);
      for (int i = 0; i < 10; i++) {
        operation.read(region.descriptor(), 0, local, 0, 8, LONG_NS);
        operation.await();
        operation.write(region.descriptor(), 0, local, 0, 8, LONG_NS);
        operation.await();
      }
      assertEquals(0, verbs.ledger().remoteReads() + verbs.ledger().remoteWrites());
    }
  }

  /** The device would let a read beyond the limit hold up everything behind it. */
  @Test
  void noMoreReadsAreUnderWayThanTheDevicesHaveAgreedOn() throws InterruptedException {
    device.limits().maxReadAtomic = 3;
    Node server = server(config("verbs"), new Mailbox());
    Connection connection = connect(config("verbs"), server);
    RemoteOperation operation = connection.newRemoteOperation(null);
    try (ExportedRegion region = server.export(memory, EVERYTHING)) {
      warmUp(operation, region.descriptor());
      ScriptedQueuePair pair = startingEnd();
      pair.stall();
      AtomicInteger done = new AtomicInteger();
      RemoteHandler handler =
          new RemoteHandler() {
            @Override
            public void onDone(RemoteOperation ended, long value) {
              done.incrementAndGet();
            }

            @Override
            public void onFailure(RemoteOperation ended, Cause cause, String message) {
              throw new AssertionError(message);
            }
          };
      int started = 0;
      for (int i = 0; i < 10; i++) {
        RemoteOperation each = connection.newRemoteOperation(handler);
        MemorySegment local = MemorySegment.ofArray(new byte[8]);
        started += each.read(region.descriptor(), 0, local, 0, 8, LONG_NS) >= 0 ? 1 : 0;
      }
      assertEquals(3, started);
      pair.resume();
      await("all", () -> done.get() == 3);
      assertEquals(3, verbs.ledger().mostReadsUnderWay());
    }
  }
}
