package io.rdma4j.bench.register;

import io.rdma4j.bench.natives.FixedBuffers;
import io.rdma4j.bench.natives.Linux.LinuxException;
import io.rdma4j.provider.MemoryRegistrar;
import java.lang.foreign.Arena;

/**
 * Pins memory without a device, each range through a ring of its own: a lower bound of registering
 * it. Safe for use by several threads.
 */
final class PinRegistrar implements MemoryRegistrar {
  @Override
  public String name() {
    return "io_uring (pin only, no NIC)";
  }

  /**
   * Pins a range.
   *
   * @throws LinuxException when the kernel refuses; for ENOMEM the limit on locked memory (ulimit
   *     -l) is the first suspect
   */
  @Override
  public Registration register(long address, long lengthBytes) {
    FixedBuffers buffers = new FixedBuffers();
    try (Arena arena = Arena.ofConfined()) {
      buffers.pin(FixedBuffers.describe(arena, address, lengthBytes));
      return new Pinned(buffers);
    } catch (RuntimeException e) {
      buffers.close();
      throw e;
    }
  }

  private static final class Pinned implements Registration {
    private final FixedBuffers buffers;
    private boolean closed;

    Pinned(FixedBuffers buffers) {
      this.buffers = buffers;
    }

    @Override
    public int lkey() {
      return 0;
    }

    @Override
    public int rkey() {
      return 0;
    }

    @Override
    public synchronized void close() {
      if (!closed) {
        buffers.unpin();
        buffers.close();
        closed = true;
      }
    }

    @Override
    public synchronized boolean isDeregistered() {
      return closed;
    }
  }
}
