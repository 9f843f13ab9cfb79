package io.rdma4j.examples.verbs;

import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SendList;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/**
 * One end of a connection on plain verbs. Every message lies in a block of the pool: nothing is
 * registered, copied or allocated for it.
 *
 * <p>Single thread only. Owns all of its resources except the identifier.
 */
final class PooledEndpoint implements AutoCloseable {
  static final int MESSAGE_BYTES = 4096;
  private static final int RECEIVES = 16;

  /** Work request number of all sends; receives have that of their slot. */
  private static final long SEND = RECEIVES;

  private final ProtectionDomain domain;
  private final DomainRegistrar registrar;
  private final RegisteredBufferPool pool;
  private final CompletionQueue completionQueue;
  private final QueuePair queuePair;
  private final RegisteredBuffer[] receiveBlocks = new RegisteredBuffer[RECEIVES];
  private final Queue<Long> sentBlocks = new ArrayDeque<>();
  private final Queue<RegisteredBuffer> arrived = new ArrayDeque<>();
  private final SendList sends = new SendList(1, 1);
  private final ReceiveList receives = new ReceiveList(1, 1);
  private final Completions batch = new Completions(RECEIVES);

  /** Makes everything on the device that the identifier is bound to, and posts the receives. */
  PooledEndpoint(CmId id) {
    Device device = id.device();
    domain = device.allocateProtectionDomain();
    registrar = new DomainRegistrar(domain);
    pool = RegisteredBufferPool.create(PoolConfig.defaults(), List.of(registrar));
    completionQueue = device.createCompletionQueue(4 * RECEIVES, null, 0);
    queuePair =
        id.createQueuePair(
            domain,
            new QueuePairConfig(
                completionQueue, completionQueue, RECEIVES, RECEIVES, 1, 1, 0, null));
    for (int slot = 0; slot < RECEIVES; slot++) {
      receiveBlocks[slot] = pool.newLease();
      postReceive(slot);
    }
  }

  /** Returns a block to write a message into, for {@link #send}. */
  RegisteredBuffer newMessage(int lengthBytes) {
    return pool.allocate(lengthBytes);
  }

  private void postReceive(int slot) {
    RegisteredBuffer block = receiveBlocks[slot];
    pool.allocate(MESSAGE_BYTES, block);
    receives.clear();
    receives.add(slot).scatter(block.address(), MESSAGE_BYTES, block.lkey(registrar));
    if (queuePair.postReceive(receives) != 1) {
      throw new IllegalStateException("receive refused, errno " + receives.errno());
    }
  }

  /** Sends a message; its block belongs to the queue pair until the completion has come. */
  void send(RegisteredBuffer message) {
    int lengthBytes = message.lengthBytes();
    sends.clear();
    sends
        .add(SEND, SendList.OP_SEND, SendList.SIGNALED)
        .gather(message.address(), lengthBytes, message.lkey(registrar));
    if (queuePair.postSend(sends) != 1) {
      throw new IllegalStateException("send refused, errno " + sends.errno());
    }
    sentBlocks.add(message.detach());
  }

  /** Returns the next message, which the caller releases, or null when none has come. */
  @Nullable RegisteredBuffer poll() {
    int completed = completionQueue.poll(batch);
    for (int i = 0; i < completed; i++) {
      complete(i);
    }
    return arrived.poll();
  }

  private void complete(int i) {
    if (batch.status(i) != Completions.SUCCESS) {
      throw new IllegalStateException(
          "%s on %s".formatted(Completions.statusText(batch.status(i)), queuePair));
    }
    long number = batch.wrId(i);
    if (number == SEND) {
      // Sends complete in the order in which they were posted.
      pool.release(sentBlocks.remove());
    } else {
      int slot = (int) number;
      RegisteredBuffer message = pool.newLease();
      pool.attach(receiveBlocks[slot].detach(), batch.lengthBytes(i), message);
      arrived.add(message);
      postReceive(slot);
    }
  }

  /** Returns how many sends have not completed yet. */
  int sendsUnderWay() {
    return sentBlocks.size();
  }

  RegisteredBufferPool pool() {
    return pool;
  }

  /** The queue pair goes first: until then the device may write into posted blocks. */
  @Override
  public void close() {
    queuePair.close();
    for (RegisteredBuffer block : receiveBlocks) {
      block.close();
    }
    arrived.forEach(RegisteredBuffer::close);
    sentBlocks.forEach(pool::release);
    pool.close();
    completionQueue.close();
    domain.close();
    batch.close();
    receives.close();
    sends.close();
  }
}
