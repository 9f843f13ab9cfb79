package io.rdma4j.provider.tcp;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;

/**
 * Bytes read from the socket and not yet delivered.
 *
 * <p>Single thread only: the poller. The memory belongs to the arena given. At least two of the
 * largest frames fit, so that after compacting there is always room for the rest of one.
 */
final class ReceiveBuffer {
  private final MemorySegment memory;
  private final ByteBuffer view;
  private final int capacity;
  private int start;
  private int end;

  ReceiveBuffer(Arena arena, int capacity) {
    this.capacity = capacity;
    memory = arena.allocate(capacity, 64);
    view = memory.asByteBuffer();
  }

  MemorySegment memory() {
    return memory;
  }

  /** Returns the offset of the first byte not delivered. */
  int start() {
    return start;
  }

  /** Returns how many bytes are there. */
  int availableBytes() {
    return end - start;
  }

  /** Marks bytes as delivered; they stay readable until the next {@link #fill}. */
  void skip(int lengthBytes) {
    start += lengthBytes;
  }

  /**
   * Reads once.
   *
   * @return bytes read, 0 when there were none, -1 at the end of the stream
   */
  int fill(ByteChannel socket) throws IOException {
    if (start == end) {
      start = 0;
      end = 0;
    } else if (capacity - end < capacity >>> 1) {
      MemorySegment.copy(memory, start, memory, 0, end - start);
      end -= start;
      start = 0;
    }
    view.limit(capacity).position(end);
    int read = socket.read(view);
    if (read > 0) {
      end += read;
    }
    return read;
  }
}
