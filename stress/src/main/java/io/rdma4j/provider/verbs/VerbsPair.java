package io.rdma4j.provider.verbs;

import io.rdma4j.SendResult;
import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.status.EventSink;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Both ends of a connection over a {@link DirectDevice}, in one process and on one thread: what a
 * round trip executes is the library's share of it, and the same each time.
 */
public final class VerbsPair implements AutoCloseable {
  private static final int WINDOW = 256;
  private static final int SEND_BATCH = 16;

  private final Arena arena = Arena.ofConfined();
  private final DeviceContext context;
  private final VerbsEndpoint asking;
  private final VerbsEndpoint answering;
  private final Client client;
  private final Echo echo;

  /** Connects the two. */
  public VerbsPair(int maxMessageBytes) {
    MemorySegment message = arena.allocate(maxMessageBytes, 64);
    EndpointConfig config = new EndpointConfig(maxMessageBytes, WINDOW, 1 << 16);
    context =
        new DeviceContext(
            DirectDevice.open(),
            new VerbsSettings(SEND_BATCH, 0, 0),
            NanoClock.SYSTEM,
            false,
            0,
            EventSink.NONE);
    DirectDevice.End one = new DirectDevice.End();
    DirectDevice.End other = new DirectDevice.End();
    one.connect(other);
    asking = open(one, config);
    answering = open(other, config);
    client = new Client(message);
    echo = new Echo(answering, message);
  }

  private VerbsEndpoint open(DirectDevice.End end, EndpointConfig config) {
    try {
      return QueuePairSetup.open(
          context, DirectDevice.connection(end), config, WINDOW, "peer", new ResourceStack());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Sends a message from one end, which the other answers. */
  public void roundTrip(int lengthBytes) {
    long result = asking.send(1, client.received, client.message, 0, lengthBytes);
    asking.poll(client, 64);
    int messages = answering.poll(echo, 64);
    long before = client.received;
    asking.poll(client, 64);
    if (result != SendResult.OK || messages == 0 || client.received != before + 1) {
      throw new IllegalStateException(
          "message %d was not answered: %s".formatted(before, SendResult.nameOf(result)));
    }
  }

  /** Returns what depends on every message, so that no reading of one can be left out. */
  public long touched() {
    return client.touched + echo.touched;
  }

  @Override
  public void close() {
    asking.close(client);
    answering.close(echo);
    context.close();
    arena.close();
  }

  private static class Client implements EndpointListener {
    final MemorySegment message;
    long received;
    long touched;

    Client(MemorySegment message) {
      this.message = message;
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
  }

  private static final class Echo extends Client {
    private final VerbsEndpoint endpoint;

    Echo(VerbsEndpoint endpoint, MemorySegment message) {
      super(message);
      this.endpoint = endpoint;
    }

    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      super.onMessage(type, correlationId, memory, offset, lengthBytes);
      if (endpoint.send(type, correlationId, message, 0, lengthBytes) != SendResult.OK) {
        throw new IllegalStateException("no room for an answer");
      }
    }
  }
}
