package io.rdma4j.bench.pool;

import io.netty.buffer.AdaptiveByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.rdma4j.Availability;
import io.rdma4j.bench.DeviceRegistrar;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.RegisteredBufferPool;
import java.lang.foreign.Linker;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Everybody who races, made once for the process, so that memory stays warm from round to round and
 * the compiler sees constants.
 */
final class Rivals {
  static final DeviceRegistrar REGISTRAR = new DeviceRegistrar();
  static final RegisteredBufferPool POOL =
      RegisteredBufferPool.create(PoolConfig.defaults(), List.of(REGISTRAR));

  static final PoolRival OURS = new PoolRival(POOL);
  static final NativeRival GLIBC = NativeRival.ofProcess();
  static final NativeRival GLIBC_PLAIN = NativeRival.ofProcess(new Linker.Option[0]);
  static final NativeRival TCMALLOC =
      NativeRival.load("libtcmalloc_minimal.so.4", "tc_malloc", "tc_free", "libtcmalloc-minimal4");
  static final NativeRival JEMALLOC =
      NativeRival.load("libjemalloc.so.2", "malloc", "free", "libjemalloc2");
  static final NativeRival MIMALLOC =
      NativeRival.load("libmimalloc.so.2", "mi_malloc", "mi_free", "libmimalloc2.0");
  static final NettyRival NETTY_POOLED = new NettyRival(PooledByteBufAllocator.DEFAULT);
  static final NettyRival NETTY_ADAPTIVE = new NettyRival(new AdaptiveByteBufAllocator(true));

  /** The pool's name in {@link #named}. */
  static final String OUR_NAME = "ours";

  private static final Map<String, Rival<?>> BY_NAME = new LinkedHashMap<>();

  static {
    BY_NAME.put(OUR_NAME, OURS);
    BY_NAME.put("glibc", GLIBC);
    BY_NAME.put("glibc_plain", GLIBC_PLAIN);
    BY_NAME.put("tcmalloc", TCMALLOC);
    BY_NAME.put("jemalloc", JEMALLOC);
    BY_NAME.put("mimalloc", MIMALLOC);
    BY_NAME.put("netty_pooled", NETTY_POOLED);
    BY_NAME.put("netty_adaptive", NETTY_ADAPTIVE);
  }

  private Rivals() {}

  /** Returns whether a rival can run; what is no allocator of its own always can. */
  static Availability availability(String name) {
    Rival<?> rival = BY_NAME.get(name);
    return rival == null ? Availability.usable("part of the JDK") : rival.availability();
  }

  /** Returns a rival that can hold blocks. */
  static Rival<?> named(String name) {
    Rival<?> rival = BY_NAME.get(name);
    if (rival == null) {
      throw new IllegalArgumentException(name + " is none of " + BY_NAME.keySet());
    }
    return rival;
  }

  /** Gives back the pool and what it is registered with. */
  static void close() {
    try (REGISTRAR) {
      MixBenchmark.closeLoops();
      POOL.close();
    }
  }
}
