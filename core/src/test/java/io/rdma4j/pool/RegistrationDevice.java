package io.rdma4j.pool;

import io.rdma4j.Rdma4jException;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.MemoryRegistrar;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A device that knows every live registration by its key, never gives a key twice, and can be told
 * to refuse, or to be busy with posted work.
 */
final class RegistrationDevice implements MemoryRegistrar {
  /** What was asked for. */
  record Known(long address, long lengthBytes, int access) {
    boolean grants(long wantedAddress, long wantedBytes, int wantedAccess) {
      return wantedAddress >= address
          && wantedAddress + wantedBytes <= address + lengthBytes
          && MemoryAccess.includes(access, wantedAccess);
    }
  }

  private final Map<Integer, Known> live = new TreeMap<>();
  private final List<Known> registered = new ArrayList<>();
  private int nextKey = 100;
  private int deregistered;
  private volatile Runnable beforeEach = () -> {};
  private volatile boolean refusing;
  private volatile boolean holding;
  private volatile boolean busy;

  /** Runs at the start of each registration, outside any lock of this object. */
  void beforeEach(Runnable action) {
    beforeEach = action;
  }

  /** Refuses to register. */
  void refusing(boolean refuses) {
    refusing = refuses;
  }

  /** Refuses to deregister. */
  void holding(boolean holds) {
    holding = holds;
  }

  /** Has posted work on everything: a close takes effect only after it. */
  void busy(boolean isBusy) {
    busy = isBusy;
  }

  @Override
  public String name() {
    return "rxe0";
  }

  @Override
  public Registration register(long address, long lengthBytes) {
    return register(address, lengthBytes, MemoryAccess.LOCAL_WRITE);
  }

  @Override
  public Registration register(long address, long lengthBytes, int access) {
    beforeEach.run();
    if (refusing) {
      throw new Rdma4jException("ibv_reg_mr on rxe0: ENOMEM (cannot allocate memory)");
    }
    synchronized (this) {
      Known known = new Known(address, lengthBytes, access);
      int key = nextKey;
      nextKey += 2;
      live.put(key, known);
      registered.add(known);
      return new Live(key);
    }
  }

  /** Returns true while a key is known. */
  synchronized boolean knows(int lkey) {
    return live.containsKey(lkey);
  }

  /** Returns true while a key is known and grants so much. */
  synchronized boolean grants(int lkey, long address, long lengthBytes, int access) {
    Known known = live.get(lkey);
    return known != null && known.grants(address, lengthBytes, access);
  }

  synchronized int live() {
    return live.size();
  }

  synchronized List<Known> registered() {
    return List.copyOf(registered);
  }

  synchronized int deregistered() {
    return deregistered;
  }

  private final class Live implements Registration {
    private final int lkey;

    Live(int lkey) {
      this.lkey = lkey;
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
    public void close() {
      if (holding) {
        throw new Rdma4jException("ibv_dereg_mr on rxe0: EBUSY");
      }
      if (!busy) {
        forget();
      }
    }

    @Override
    public void revoke() {
      if (holding) {
        throw new Rdma4jException("ibv_dereg_mr on rxe0: EBUSY");
      }
      forget();
    }

    private void forget() {
      synchronized (RegistrationDevice.this) {
        deregistered += live.remove(lkey) == null ? 0 : 1;
      }
    }

    @Override
    public boolean isDeregistered() {
      synchronized (RegistrationDevice.this) {
        return !live.containsKey(lkey);
      }
    }
  }
}
