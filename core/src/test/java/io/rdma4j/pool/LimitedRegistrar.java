package io.rdma4j.pool;

import io.rdma4j.Rdma4jException;
import io.rdma4j.provider.MemoryRegistrar;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A device that counts whole pages of live registrations like the kernel does, refuses what passes
 * its limit, and can be told to be slow or to fail.
 */
final class LimitedRegistrar implements MemoryRegistrar {
  private static final long PAGE = 4096;

  private final String name;
  private final long limitPages;
  private final AtomicInteger keys = new AtomicInteger(100);
  private long pinnedPages;
  private int live;
  private int registered;
  private int attempts;
  private long lastLengthBytes;
  private volatile Runnable beforeEach = () -> {};
  private volatile boolean failing;
  private boolean refusingToForget;
  private boolean busy;

  LimitedRegistrar(String name, long limitPages) {
    this.name = name;
    this.limitPages = limitPages;
  }

  static LimitedRegistrar unlimited(String name) {
    return new LimitedRegistrar(name, Long.MAX_VALUE);
  }

  /** Runs at the start of each registration, outside any lock of this object. */
  void beforeEach(Runnable action) {
    this.beforeEach = action;
  }

  void failing(boolean failing) {
    this.failing = failing;
  }

  /** Has every deregistration fail from here on, or none. */
  synchronized void refuseToForget(boolean refusing) {
    refusingToForget = refusing;
  }

  /** Pretends that posted requests name all memory, so that deregistrations wait for them. */
  synchronized void busy(boolean busy) {
    this.busy = busy;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Registration register(long address, long lengthBytes) {
    synchronized (this) {
      attempts++;
    }
    beforeEach.run();
    synchronized (this) {
      long pages = (address + lengthBytes - 1) / PAGE - address / PAGE + 1;
      if (failing || pinnedPages + pages > limitPages) {
        throw new Rdma4jException("ibv_reg_mr on " + name + ": ENOMEM (cannot allocate memory)");
      }
      pinnedPages += pages;
      live++;
      registered++;
      lastLengthBytes = lengthBytes;
      return new Live(keys.getAndAdd(2), pages);
    }
  }

  synchronized long pinnedPages() {
    return pinnedPages;
  }

  synchronized int live() {
    return live;
  }

  synchronized int registered() {
    return registered;
  }

  synchronized int attempts() {
    return attempts;
  }

  synchronized long lastLengthBytes() {
    return lastLengthBytes;
  }

  /** Returns the keys a slab would have with registrars that were asked in step. */
  static List<Integer> keysOf(RegisteredBuffer buffer, int registrars) {
    List<Integer> keys = new ArrayList<>();
    for (int i = 0; i < registrars; i++) {
      keys.add(buffer.lkey(i));
      keys.add(buffer.rkey(i));
    }
    return keys;
  }

  private final class Live implements Registration {
    private final int lkey;
    private final long pages;
    private boolean closed;

    Live(int lkey, long pages) {
      this.lkey = lkey;
      this.pages = pages;
    }

    @Override
    public int lkey() {
      return lkey;
    }

    @Override
    public int rkey() {
      return lkey + 1;
    }

    @Override
    public boolean isDeregistered() {
      synchronized (LimitedRegistrar.this) {
        return closed;
      }
    }

    @Override
    public void revoke() {
      close();
    }

    @Override
    public void close() {
      synchronized (LimitedRegistrar.this) {
        if (refusingToForget) {
          throw new Rdma4jException(
              "ibv_dereg_mr on " + name + ": EBUSY (device or resource busy)");
        }
        if (!closed && !busy) {
          closed = true;
          pinnedPages -= pages;
          live--;
        }
      }
    }
  }
}
