package io.rdma4j.stress;

import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.PoolView;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.provider.shm.ShmPair;
import io.rdma4j.provider.verbs.VerbsPair;
import java.nio.file.Path;
import java.util.List;

/**
 * Runs each hot path over and over: allocates and releases one block, by each face of the pool, and
 * sends and polls one message over shared memory. Gates run it in a process of its own and look at
 * the code that the compiler made of it.
 *
 * <pre>
 *  usage: HotLoop OPERATIONS FILE
 * </pre>
 */
public final class HotLoop {
  private static final int BLOCK_BYTES = 8 * 1024;
  private static final int SHORT_BYTES = 64;
  private static final int LONG_BYTES = 512;

  /** Operations of one call, so that the loop's method is compiled as such. */
  private static final int CHUNK = 1_000;

  private static final int WARM_UP = 400_000;

  private HotLoop() {}

  /** {@link #CHUNK} operations. */
  interface Loop extends Runnable, AutoCloseable {
    /** Gives back what the loop has. */
    @Override
    default void close() {}
  }

  /** A hot path. */
  enum Face {
    /** {@code allocate(length, lease)} and the lease's release. */
    LEASE {
      @Override
      Loop loop(RegisteredBufferPool pool) {
        return new Lease(pool);
      }
    },

    /** The thread's view. */
    VIEW {
      @Override
      Loop loop(RegisteredBufferPool pool) {
        return new View(pool);
      }
    },

    /** A lease that goes over into a handle, released through the pool. */
    HANDLE {
      @Override
      Loop loop(RegisteredBufferPool pool) {
        return new Handle(pool);
      }
    },

    /** As {@link #LEASE}, on a virtual thread, whose cache others share. */
    VIRTUAL {
      @Override
      Loop loop(RegisteredBufferPool pool) {
        return new Lease(pool);
      }
    },

    /** A small message, copied into the ring of shared memory and delivered from there. */
    SHM {
      @Override
      Loop loop(RegisteredBufferPool pool) {
        return new Messages(SHORT_BYTES);
      }
    },

    /** The same with a message of eight lines and a header. */
    SHM512 {
      @Override
      Loop loop(RegisteredBufferPool pool) {
        return new Messages(LONG_BYTES);
      }
    },

    /** A small message over verbs and its answer, on a device that costs next to nothing. */
    VERBS {
      @Override
      Loop loop(RegisteredBufferPool pool) {
        return new RoundTrips();
      }
    };

    /** Makes the calling thread's loop of {@link #CHUNK} operations. */
    abstract Loop loop(RegisteredBufferPool pool);

    /** Runs an action on a thread of the kind that this face is for. */
    void onItsThread(Runnable action) throws InterruptedException {
      if (this == VIRTUAL) {
        Thread.ofVirtual().start(action).join();
      } else {
        action.run();
      }
    }
  }

  /** Takes no samples of times: one allocation in so many is slower then, the others are not. */
  static RegisteredBufferPool newPool() {
    PoolConfig config =
        PoolConfig.builder()
            .blockSizes(BLOCK_BYTES)
            .slabBytes(1 << 20)
            .maxBytes(1 << 20)
            .minBytes(0)
            .initialBytes(1 << 20)
            .hugePages(HugePages.NONE)
            .backgroundThread(false)
            .sampleEvery(0)
            .build();
    return RegisteredBufferPool.create(config, List.of());
  }

  private static final class Lease implements Loop {
    private final RegisteredBufferPool pool;
    private final RegisteredBuffer lease;

    Lease(RegisteredBufferPool pool) {
      this.pool = pool;
      this.lease = pool.newLease();
    }

    @Override
    public void run() {
      for (int i = 0; i < CHUNK; i++) {
        pool.allocate(BLOCK_BYTES, lease);
        lease.close();
      }
    }
  }

  private static final class View implements Loop {
    private final PoolView view;

    View(RegisteredBufferPool pool) {
      this.view = pool.view(BLOCK_BYTES);
    }

    @Override
    public void run() {
      for (int i = 0; i < CHUNK; i++) {
        view.release(view.allocate());
      }
    }
  }

  private static final class Handle implements Loop {
    private final RegisteredBufferPool pool;
    private final RegisteredBuffer lease;

    Handle(RegisteredBufferPool pool) {
      this.pool = pool;
      this.lease = pool.newLease();
    }

    @Override
    public void run() {
      for (int i = 0; i < CHUNK; i++) {
        pool.allocate(BLOCK_BYTES, lease);
        pool.release(lease.detach());
      }
    }
  }

  private static final class Messages implements Loop {
    private final ShmPair pair;
    private final int lengthBytes;

    Messages(int lengthBytes) {
      this.pair = new ShmPair(lengthBytes);
      this.lengthBytes = lengthBytes;
    }

    @Override
    public void run() {
      for (int i = 0; i < CHUNK; i++) {
        pair.sendAndPoll(lengthBytes);
      }
    }

    @Override
    public void close() {
      pair.close();
    }
  }

  private static final class RoundTrips implements Loop {
    private final VerbsPair pair = new VerbsPair(SHORT_BYTES);

    @Override
    public void run() {
      for (int i = 0; i < CHUNK; i++) {
        pair.roundTrip(SHORT_BYTES);
      }
    }

    @Override
    public void close() {
      pair.close();
    }
  }

  /** Runs a loop so often that the compiler is done with it. */
  static void warmUp(Loop loop) {
    run(loop, WARM_UP);
  }

  static void run(Loop loop, int operations) {
    for (int i = 0; i < operations; i += CHUNK) {
      loop.run();
    }
  }

  /**
   * Runs each face: warm-up, then {@code operations}, then three times as many, with a mark before
   * and behind each of the two. In the end the compiled code is written to the file.
   */
  public static void main(String[] args) throws Exception {
    int operations = Integer.parseInt(args[0]);
    try (RegisteredBufferPool pool = newPool()) {
      for (Face face : Face.values()) {
        face.onItsThread(
            () -> {
              try (Loop loop = face.loop(pool)) {
                warmUp(loop);
                mark();
                run(loop, operations);
                mark();
                run(loop, 3 * operations);
                mark();
              }
            });
      }
    }
    CodeImage.write(Path.of(args[1]));
  }

  /** Calls {@link Callgrind#MARK}, which is of no use but to be seen by callgrind. */
  private static void mark() {
    long bytes = Runtime.getRuntime().totalMemory();
    if (bytes <= 0) {
      throw new IllegalStateException("no heap");
    }
  }
}
