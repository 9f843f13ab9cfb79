package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.pool.ExhaustionPolicy;
import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolExhaustedException;
import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Provider;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.provider.verbs.VerbsSettings;
import io.rdma4j.testkit.simulation.SimulatedClock;
import io.rdma4j.testkit.verbs.ScriptedVerbs;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;

/** A node of a simulation and the application on it. */
final class SimulatedNode {
  private static final int BLOCK_BYTES = 4096;
  private static final byte GARBAGE = (byte) 0xEE;
  private static final long LONG_NS = Duration.ofHours(1).toNanos();

  final String name;
  final Simulation simulation;
  final Node node;
  final Provider provider;
  final List<SimulatedEnd> ends = new ArrayList<>();
  private final SimulatedClock clock;
  private final RandomGenerator random;
  private final MemorySegment scratch;

  SimulatedNode(
      String name,
      Simulation simulation,
      ScriptedVerbs verbs,
      SimulatedClock clock,
      EndpointConfig sizes,
      RandomGenerator random,
      UnaryOperator<Provider> wrapping) {
    this.name = name;
    this.simulation = simulation;
    this.clock = clock;
    this.random = random;
    int sharedReceives = random.nextBoolean() ? 0 : 64 + random.nextInt(64);
    var settings =
        new VerbsSettings(1 + random.nextInt(16), 0, 0).withSharedReceives(sharedReceives);
    provider = wrapping.apply(new VerbsProvider(verbs, settings, clock));
    scratch = Arena.ofAuto().allocate(Math.max(1, sizes.maxMessageBytes()));
    node = Node.driven(config(sizes, sharedReceives), List.of(provider), clock);
  }

  /**
   * One slab for all, and a reserve for the receives of all connections and for what the
   * application keeps: a pool that grows does so on threads of its own.
   */
  private NodeConfig config(EndpointConfig sizes, int sharedReceives) {
    int blocksPerSlab = 4 + random.nextInt(28);
    int slabBytes = BLOCK_BYTES * blocksPerSlab;
    int posted = Math.max(SimulationScript.MOST_CONNECTIONS * (sizes.window() + 3), sharedReceives);
    int kept = SimulationScript.MOST_CONNECTIONS * SimulatedEnd.MOST_KEPT;
    int reserve = posted + kept + random.nextInt(16);
    int slabs = 1 + Math.ceilDiv(reserve, blocksPerSlab);
    return NodeConfig.builder()
        .paths("verbs")
        .threading(NodeConfig.Threading.INVOKER)
        .maxMessageBytes(sizes.maxMessageBytes())
        .window(sizes.window())
        .ringBytes(sizes.ringBytes())
        .copyBreakBytes(random.nextInt(sizes.maxMessageBytes()))
        .pool(
            PoolConfig.builder()
                .blockSizes(BLOCK_BYTES)
                .slabBytes(slabBytes)
                .initialBytes(slabBytes)
                .maxBytes((long) slabs * slabBytes)
                .receiveReserveBlocks(reserve)
                .maxCached(random.nextInt(5))
                .exhaustion(ExhaustionPolicy.FAIL)
                .hugePages(HugePages.NONE)
                .numaAware(false)
                .backgroundThread(false)
                .build())
        .build();
  }

  /** One duty cycle of the poller. */
  int poll() {
    return node.poll();
  }

  /** What the conductor does, some fifty times a second. */
  void housekeep() {
    long nowNs = clock.nowNs();
    for (SimulatedEnd end : List.copyOf(ends)) {
      if (!end.hasEnded()) {
        end.readSocket();
        end.connection().housekeep(nowNs);
      }
    }
  }

  // ---- the application -----------------------------------------------------------------------

  /** Does something an application would do on a connection of its own. */
  void act(SimulatedEnd end) {
    switch (random.nextInt(9)) {
      case 0, 1, 2 -> sendCopy(end);
      case 3, 4 -> sendBuffer(end);
      case 5 -> request(end);
      case 6 -> answer(end);
      case 7 -> end.releaseKept();
      default -> cancel(end);
    }
  }

  /** Sends the next message of an end by copy, if there is room. */
  void sendCopy(SimulatedEnd end) {
    long key = end.nextKey();
    int lengthBytes = SimulatedMessage.lengthBytes(key, end.connection().maxMessageBytes());
    SimulatedMessage.fill(scratch, key, lengthBytes);
    if (end.connection().send(scratch, 0, lengthBytes) >= 0) {
      end.record(SimulatedEnd.Kind.DATA);
    }
    scratch.fill(GARBAGE);
  }

  /**
   * Sends a pooled buffer. A block that comes back too early is soon handed out again, and filled
   * with garbage here before it gets its own message.
   */
  private void sendBuffer(SimulatedEnd end) {
    long key = end.nextKey();
    int lengthBytes = SimulatedMessage.lengthBytes(key, end.connection().maxMessageBytes());
    try (RegisteredBuffer buffer = node.pool().allocate(lengthBytes)) {
      buffer.segment().fill(GARBAGE);
      SimulatedMessage.fill(buffer.segment(), key, lengthBytes);
      if (end.connection().send(buffer) >= 0) {
        end.record(SimulatedEnd.Kind.DATA);
      }
    } catch (PoolExhaustedException e) {
      simulation.statistics.exhausted++;
    }
  }

  private void request(SimulatedEnd end) {
    long key = end.nextKey();
    int lengthBytes = SimulatedMessage.lengthBytes(key, end.connection().maxMessageBytes());
    SimulatedMessage.fill(scratch, key, lengthBytes);
    long timeoutNs = random.nextInt(4) == 0 ? 1 + random.nextLong(200_000) : LONG_NS;
    long before = end.connection().status().messagesSent();
    CompletableFuture<Reply> reply =
        end.connection().requestAsync(scratch, 0, lengthBytes, timeoutNs).toCompletableFuture();
    scratch.fill(GARBAGE);
    if (end.connection().status().messagesSent() > before) {
      end.recordRequest(reply, key);
    } else {
      simulation.check(
          reply.isCompletedExceptionally(), () -> end + ": a request was not sent, and waits");
    }
  }

  /** Answers the oldest request, or forgets it now and then. */
  void answer(SimulatedEnd end) {
    SimulatedEnd.Owed owed = end.owed.peek();
    if (owed == null || random.nextInt(16) == 0) {
      end.owed.poll();
      return;
    }
    long key = SimulatedMessage.replyKey(owed.requestKey());
    int lengthBytes = SimulatedMessage.lengthBytes(key, end.connection().maxMessageBytes());
    MemorySegment answer = Arena.ofAuto().allocate(Math.max(1, lengthBytes));
    SimulatedMessage.fill(answer, key, lengthBytes);
    long result = end.connection().reply(owed.correlationId(), answer, 0, lengthBytes);
    if (result >= 0) {
      end.recordReply();
    }
    if (result != SendResult.BACK_PRESSURED) {
      end.owed.poll();
    }
  }

  private void cancel(SimulatedEnd end) {
    if (!end.asked.isEmpty() && random.nextInt(4) == 0) {
      boolean cancelled = end.asked.get(random.nextInt(end.asked.size())).reply.cancel(false);
      simulation.statistics.cancelled += cancelled ? 1 : 0;
    }
  }

  // ---- the end -------------------------------------------------------------------------------

  /** Closes the node, whose connections have ended; its pool has to be full again by then. */
  void close() {
    ends.forEach(SimulatedEnd::checkEnded);
    checkPool();
    node.close();
  }

  private void checkPool() {
    PoolStatistics pool = node.pool().statistics();
    for (PoolStatistics.SizeClass sizes : pool.classes()) {
      simulation.check(
          sizes.usedBlocks() == 0 && pool.refusedReleases() == 0,
          () -> name + ": the pool is left with " + pool);
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
