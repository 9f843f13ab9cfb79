package io.rdma4j.testkit.interop;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CmParameters;
import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SendList;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * One end of an rping connection: a queue pair, a data buffer, and the advertisements that both
 * ends send each other.
 *
 * <pre>
 *  advertisement, 16 bytes, big endian
 *    0  address  8
 *    8  rkey     4
 *   12  size     4
 * </pre>
 *
 * <p>Single thread only. Owns all of its resources except the identifier.
 */
final class RpingConnection implements AutoCloseable {
  /** Connection parameters of rping: one RDMA operation at a time. */
  static final CmParameters PARAMETERS = new CmParameters(new byte[0], 1, 1, 7, 7);

  /** Largest ping (rping -S). */
  static final int MAX_DATA_BYTES = 64 * 1024;

  /** How often a wait for a completion looks for the peer's disconnect. */
  private static final long EVENT_CHECK_NS = 50_000_000;

  private static final int RECEIVES = 2;
  private static final int ADVERTISEMENT_BYTES = 16;
  private static final long SEND_AT = MAX_DATA_BYTES;
  private static final long RECEIVE_AT = SEND_AT + ADVERTISEMENT_BYTES;
  private static final int SEND_ID = RECEIVES;

  /** The sink of an RDMA read needs remote write on iWARP. */
  private static final int ACCESS = Access.LOCAL_WRITE | Access.REMOTE_READ | Access.REMOTE_WRITE;

  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG.withOrder(ByteOrder.BIG_ENDIAN);
  private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN);

  private final Arena arena = Arena.ofShared();
  private final MemorySegment memory =
      arena.allocate(RECEIVE_AT + RECEIVES * ADVERTISEMENT_BYTES, 4096);
  private final SendList sends = new SendList(1, 1);
  private final ReceiveList receives = new ReceiveList(1, 1);
  private final Completions batch = new Completions(1);
  private final Queue<Long> arrived = new ArrayDeque<>();
  private final ProtectionDomain domain;
  private final CompletionChannel channel;
  private final CompletionQueue completionQueue;
  private final MemoryRegion region;
  private final QueuePair queuePair;
  private final CmId id;
  private boolean flushed;
  private boolean disconnected;

  /** Memory that the peer offers. */
  record Advertisement(long address, int rkey, int size) {}

  /** Makes everything on the device that the identifier is bound to, and posts the receives. */
  RpingConnection(CmId id) {
    this.id = id;
    Device device = id.device();
    domain = device.allocateProtectionDomain();
    channel = device.createCompletionChannel();
    completionQueue = device.createCompletionQueue(32, channel, 0);
    region = domain.registerMemory(memory.address(), memory.byteSize(), ACCESS);
    queuePair =
        id.createQueuePair(
            domain,
            new QueuePairConfig(completionQueue, completionQueue, 16, RECEIVES, 1, 1, 0, null));
    for (int i = 0; i < RECEIVES; i++) {
      postReceive(i);
    }
  }

  /** Returns the ping data. */
  MemorySegment data() {
    return memory.asSlice(0, MAX_DATA_BYTES);
  }

  private void postReceive(long slot) {
    receives.clear();
    receives
        .add(slot)
        .scatter(
            memory.address() + RECEIVE_AT + slot * ADVERTISEMENT_BYTES,
            ADVERTISEMENT_BYTES,
            region.lkey());
    if (queuePair.postReceive(receives) != 1) {
      throw new IllegalStateException("receive refused, errno " + receives.errno());
    }
  }

  /** Offers the first bytes of the data buffer to the peer, which may read and write them. */
  void advertise(int size, long timeoutNs) {
    MemorySegment message = memory.asSlice(SEND_AT, ADVERTISEMENT_BYTES);
    message.set(LONG, 0, memory.address());
    message.set(INT, 8, region.rkey());
    message.set(INT, 12, size);
    sends.clear();
    sends
        .add(SEND_ID, SendList.OP_SEND, SendList.SIGNALED)
        .gather(message.address(), ADVERTISEMENT_BYTES, region.lkey());
    postAndAwait(timeoutNs);
  }

  /** Returns what the peer offers, or null when it has disconnected. */
  @Nullable Advertisement awaitAdvertisement(long timeoutNs) {
    long deadlineNs = System.nanoTime() + timeoutNs;
    while (arrived.isEmpty() && !flushed) {
      awaitCompletion(deadlineNs);
    }
    Long slot = arrived.poll();
    if (slot == null) {
      return null;
    }
    MemorySegment message =
        memory.asSlice(RECEIVE_AT + slot * ADVERTISEMENT_BYTES, ADVERTISEMENT_BYTES);
    Advertisement advertisement =
        new Advertisement(message.get(LONG, 0), message.get(INT, 8), message.get(INT, 12));
    postReceive(slot);
    return advertisement;
  }

  /** Reads the peer's memory into the data buffer. */
  void read(Advertisement from, long timeoutNs) {
    oneSided(SendList.OP_RDMA_READ, from, from.size(), timeoutNs);
  }

  /** Writes the first bytes of the data buffer to the peer's memory. */
  void write(Advertisement to, int lengthBytes, long timeoutNs) {
    oneSided(SendList.OP_RDMA_WRITE, to, lengthBytes, timeoutNs);
  }

  private void oneSided(int opcode, Advertisement remote, int lengthBytes, long timeoutNs) {
    if (lengthBytes < 1 || lengthBytes > MAX_DATA_BYTES || lengthBytes > remote.size()) {
      throw new IllegalStateException(
          lengthBytes + " bytes do not fit: peer " + remote.size() + ", here " + MAX_DATA_BYTES);
    }
    sends.clear();
    sends
        .add(SEND_ID, opcode, SendList.SIGNALED)
        .gather(memory.address(), lengthBytes, region.lkey())
        .remote(remote.address(), remote.rkey());
    postAndAwait(timeoutNs);
  }

  private void postAndAwait(long timeoutNs) {
    long deadlineNs = System.nanoTime() + timeoutNs;
    if (queuePair.postSend(sends) != 1) {
      throw new IllegalStateException("send refused, errno " + sends.errno());
    }
    while (awaitCompletion(deadlineNs) != SEND_ID) {
      if (flushed) {
        throw new IllegalStateException("the peer disconnected in the middle of a ping");
      }
    }
  }

  /** Takes one completion, notes it when it is a receive, and returns its wr_id. */
  private long awaitCompletion(long deadlineNs) {
    while (completionQueue.poll(batch) == 0) {
      completionQueue.requestNotification(false);
      if (completionQueue.poll(batch) > 0) {
        break;
      }
      long leftNs = deadlineNs - System.nanoTime();
      if (leftNs <= 0) {
        throw new IllegalStateException("no completion before the deadline on " + queuePair);
      }
      if (!channel.await(Math.min(leftNs, EVENT_CHECK_NS)) && !disconnected) {
        answerDisconnect(0);
      }
    }
    long wrId = batch.wrId(0);
    int status = batch.status(0);
    if (status == Completions.FLUSHED) {
      flushed = true;
    } else if (status != Completions.SUCCESS) {
      throw new IllegalStateException(
          "request " + wrId + " on " + queuePair + ": " + Completions.statusText(status));
    } else if ((batch.opcode(0) & Completions.OPCODE_RECEIVE) != 0) {
      if (batch.lengthBytes(0) != ADVERTISEMENT_BYTES) {
        throw new IllegalStateException(
            "advertisement of " + batch.lengthBytes(0) + " bytes, not " + ADVERTISEMENT_BYTES);
      }
      arrived.add(wrId);
    }
    return wrId;
  }

  /** Waits for the end of the connection, which the peer has asked for. */
  void awaitDisconnect(long timeoutNs) {
    if (!disconnected && !answerDisconnect(timeoutNs)) {
      throw new IllegalStateException("no DISCONNECTED within " + timeoutNs + " ns on " + id);
    }
  }

  /**
   * Answers the peer's disconnect. Until then an InfiniBand queue pair stays as it is and flushes
   * nothing.
   */
  private boolean answerDisconnect(long timeoutNs) {
    CmEvent event = id.awaitEvent(timeoutNs);
    if (event == null) {
      return false;
    }
    if (event.type() != CmEvent.Type.DISCONNECTED) {
      throw new IllegalStateException(event.type() + " on " + id);
    }
    disconnected = true;
    id.disconnect();
    return true;
  }

  @Override
  public void close() {
    domain.close();
    completionQueue.close();
    channel.close();
    batch.close();
    receives.close();
    sends.close();
    arena.close();
  }
}
