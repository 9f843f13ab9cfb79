package io.rdma4j.testkit.provider;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * A listener that expects the messages 0, 1, 2 … of one seed and checks each as it comes, so that
 * one lost, repeated, overtaken or damaged message shows at once.
 */
final class StreamCheck implements EndpointListener {
  private final long seed;
  private final int maxBytes;

  /** Messages received so far, thus the number expected next. */
  long received;

  @Nullable EndpointFailure failure;

  StreamCheck(long seed, int maxBytes) {
    this.seed = seed;
    this.maxBytes = maxBytes;
  }

  /** Returns the type that message {@code number} carries. */
  static int type(long number) {
    return (int) (number * 37 & 0xff);
  }

  @Override
  public void onMessage(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    if (correlationId != received
        || type != type(received)
        || lengthBytes != expectedBytes()
        || Payload.mismatch(memory, offset, lengthBytes, seed, received) >= 0) {
      throw new AssertionError(
          String.format(
              "seed %d: expected message %d, type %d, %d bytes; got %d, type %d, %d bytes, first"
                  + " wrong byte %d",
              seed,
              received,
              type(received),
              expectedBytes(),
              correlationId,
              type,
              lengthBytes,
              Payload.mismatch(memory, offset, lengthBytes, seed, received)));
    }
    received++;
  }

  private int expectedBytes() {
    return Payload.lengthBytes(seed, received, maxBytes);
  }

  @Override
  public void onSent(long token) {}

  @Override
  public void onFailure(EndpointFailure cause) {
    if (failure != null) {
      throw new AssertionError("a second failure: " + cause + " after " + failure);
    }
    failure = cause;
  }
}
