package io.rdma4j.transport;

import io.rdma4j.pool.RegisteredBuffer;
import java.lang.foreign.MemorySegment;

/**
 * The answer to a request, in a pooled buffer that the receiver owns and closes.
 *
 * <p>One thread at a time.
 */
public final class Reply implements AutoCloseable {
  private final RegisteredBuffer buffer;

  Reply(RegisteredBuffer buffer) {
    this.buffer = buffer;
  }

  /** Returns the payload's length. */
  public int lengthBytes() {
    return buffer.lengthBytes();
  }

  /** Returns the payload. */
  public MemorySegment payload() {
    return buffer.segment().asSlice(0, buffer.lengthBytes());
  }

  /** Gives the buffer back to the pool; idempotent. */
  @Override
  public void close() {
    buffer.close();
  }
}
