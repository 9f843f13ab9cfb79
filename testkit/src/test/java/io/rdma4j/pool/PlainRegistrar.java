package io.rdma4j.pool;

import io.rdma4j.provider.MemoryRegistrar;
import java.util.concurrent.atomic.AtomicInteger;

/** A device that takes all memory and gives each registration keys of its own. */
final class PlainRegistrar implements MemoryRegistrar {
  private final AtomicInteger keys = new AtomicInteger(100);

  @Override
  public String name() {
    return "plain0";
  }

  @Override
  public Registration register(long address, long lengthBytes) {
    int lkey = keys.getAndAdd(2);
    return new Registration() {
      private volatile boolean closed;

      @Override
      public int lkey() {
        return lkey;
      }

      @Override
      public int rkey() {
        return lkey + 1;
      }

      @Override
      public void close() {
        closed = true;
      }

      @Override
      public boolean isDeregistered() {
        return closed;
      }
    };
  }
}
