package io.rdma4j.provider.shm;

import io.rdma4j.SendResult;
import io.rdma4j.os.SharedFile;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Both ends of a connection through a shared file, in one process and on one thread, so that what a
 * message executes is the same each time. Owns the file's two mappings.
 */
public final class ShmPair implements EndpointListener, AutoCloseable {
  private static final byte[] TOKEN = new byte[16];
  private static final int WINDOW = 64;
  private static final int RING_BYTES = 1 << 16;

  private final Arena arena = Arena.ofConfined();
  private final MemorySegment message;
  private final Endpoint sender;
  private final Endpoint receiver;
  private long received;
  private long touched;

  /** Connects the two. */
  public ShmPair(int maxMessageBytes) {
    message = arena.allocate(maxMessageBytes, 64);
    EndpointConfig config = new EndpointConfig(maxMessageBytes, WINDOW, RING_BYTES);
    try (SharedFile file = SharedFile.anonymous("rdma4j-gate", ShmFile.fileBytes(config))) {
      ShmFile first = ShmFile.initiate(file, config, TOKEN);
      sender = new ShmEndpoint(first, config, "sender", null);
      receiver = new ShmEndpoint(ShmFile.accept(file, config, TOKEN), config, "receiver", null);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sends a message from one end and takes it at the other. */
  public void sendAndPoll(int lengthBytes) {
    long result = sender.send(1, received, message, 0, lengthBytes);
    sender.flush();
    if (result != SendResult.OK || receiver.poll(this, 1) != 1) {
      throw new IllegalStateException(
          "message %d was not delivered: %s".formatted(received, SendResult.nameOf(result)));
    }
  }

  @Override
  public void onMessage(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    received++;
    touched += memory.get(ValueLayout.JAVA_LONG_UNALIGNED, offset);
  }

  @Override
  public void onSent(long token) {
    throw new IllegalStateException("nothing was sent with a token, but " + token + " came back");
  }

  @Override
  public void onFailure(EndpointFailure cause) {
    throw new IllegalStateException(cause.message());
  }

  /** Returns what depends on every message, so that no reading of one can be left out. */
  public long touched() {
    return touched;
  }

  @Override
  public void close() {
    sender.close(this);
    receiver.close(this);
    arena.close();
  }
}
