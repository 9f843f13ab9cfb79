package io.rdma4j.pool;

import io.rdma4j.pool.PoolValues.Source;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;

/**
 * Settings of a {@link RegisteredBufferPool}: immutable, validated when built, equal by value.
 *
 * <p>Each has a system property and an environment variable, which is the property's name in
 * capitals: {@code rdma4j.pool.maxCached}, {@code RDMA4J_POOL_MAX_CACHED}. A complaint about a
 * value names the property, the value, where it came from, and what is valid. {@link #describe}
 * lists everything.
 *
 * <p>Bytes are written as a whole number, or with {@code k}, {@code m} or {@code g} for powers of
 * 1024. Times are written with their unit: {@code 250ms}, {@code 5s}, {@code 1m} (a minute); of
 * plain numbers only 0 is taken.
 */
public final class PoolConfig {
  /** Property of {@link #maxBytes}. */
  public static final String MAX_BYTES = "rdma4j.pool.maxBytes";

  /** Property of {@link #minBytes}. */
  public static final String MIN_BYTES = "rdma4j.pool.minBytes";

  /** Property of {@link #initialBytes}. */
  public static final String INITIAL_BYTES = "rdma4j.pool.initialBytes";

  /** Property of {@link #blockSize}. */
  public static final String BLOCK_SIZE = "rdma4j.pool.blockSize";

  /** Property of {@link #blockSizes}. */
  public static final String BLOCK_SIZES = "rdma4j.pool.blockSizes";

  /** Property of {@link #slabBytes}. */
  public static final String SLAB_BYTES = "rdma4j.pool.slabBytes";

  /** Property of {@link #maxCached}. */
  public static final String MAX_CACHED = "rdma4j.pool.maxCached";

  /** Property of {@link #cleanupIntervalNs}. */
  public static final String CLEANUP_INTERVAL = "rdma4j.pool.cleanupInterval";

  /** Property of {@link #hugePages}. */
  public static final String HUGE_PAGES = "rdma4j.pool.hugePages";

  /** Property of {@link #numaAware}. */
  public static final String NUMA_AWARE = "rdma4j.pool.numaAware";

  /** Property of {@link #lowWatermark}. */
  public static final String LOW_WATERMARK = "rdma4j.pool.lowWatermark";

  /** Property of {@link #hitRateThreshold}. */
  public static final String HIT_RATE_THRESHOLD = "rdma4j.pool.hitRateThreshold";

  /** Property of {@link #hitRateWindowNs}. */
  public static final String HIT_RATE_WINDOW = "rdma4j.pool.hitRateWindow";

  /** Property of {@link #backgroundThread}. */
  public static final String BACKGROUND_THREAD = "rdma4j.pool.backgroundThread";

  /** Property of {@link #exhaustion}. */
  public static final String EXHAUSTION = "rdma4j.pool.exhaustion";

  /** Property of {@link #exhaustionTimeoutNs}. */
  public static final String EXHAUSTION_TIMEOUT = "rdma4j.pool.exhaustionTimeout";

  /** Property of {@link #receiveReserveBlocks}. */
  public static final String RECEIVE_RESERVE_BLOCKS = "rdma4j.pool.receiveReserveBlocks";

  /** Property of {@link #receiveBlockSize}. */
  public static final String RECEIVE_BLOCK_SIZE = "rdma4j.pool.receiveBlockSize";

  /** Property of {@link #largeSegmentBytes}. */
  public static final String LARGE_SEGMENT_BYTES = "rdma4j.pool.largeSegmentBytes";

  /** Property of {@link #registrationThreads}. */
  public static final String REGISTRATION_THREADS = "rdma4j.pool.registrationThreads";

  /** Property of {@link #sampleEvery}. */
  public static final String SAMPLE_EVERY = "rdma4j.pool.sampleEvery";

  /** Property of {@link #closeTimeoutNs}. */
  public static final String CLOSE_TIMEOUT = "rdma4j.pool.closeTimeout";

  private static final PoolConfig DEFAULTS = builder().build();

  private final PoolValues values;

  private PoolConfig(PoolValues resolved) {
    this.values = resolved;
  }

  /** Returns the defaults, whatever properties and environment say. */
  public static PoolConfig defaults() {
    return DEFAULTS;
  }

  /** Returns a builder that starts from the defaults. */
  public static Builder builder() {
    return new Builder(new PoolValues());
  }

  /**
   * Returns the settings in {@code properties}, and defaults for the others.
   *
   * @throws IllegalArgumentException naming a value that is malformed or out of range, or a
   *     property that begins with {@code rdma4j.pool.} and is none
   */
  public static PoolConfig fromProperties(Properties properties) {
    return fromEnvironment(properties, Map.of());
  }

  /**
   * Returns the settings in the system properties, for others those in the environment, and
   * defaults for the rest.
   *
   * @throws IllegalArgumentException as {@link #fromEnvironment(Properties, Map)}
   */
  public static PoolConfig fromEnvironment() {
    return fromEnvironment(System.getProperties(), System.getenv());
  }

  /**
   * Returns the settings in {@code properties}, for others those in {@code environment}, and
   * defaults for the rest.
   *
   * @throws IllegalArgumentException naming a value that is malformed or out of range, or a name
   *     that begins with {@code rdma4j.pool.} or {@code RDMA4J_POOL_} and is none
   */
  public static PoolConfig fromEnvironment(Properties properties, Map<String, String> environment) {
    return new PoolConfig(PoolSources.read(properties, environment).resolved());
  }

  /** Returns a builder that starts from what was given for this one. */
  public Builder toBuilder() {
    return new Builder(values.given());
  }

  /** Returns the most bytes that may be registered, everything together. */
  public long maxBytes() {
    return values.get(PoolSetting.MAX_BYTES);
  }

  /** Returns the bytes that idle time never takes away; {@link #initialBytes} unless set. */
  public long minBytes() {
    return values.get(PoolSetting.MIN_BYTES);
  }

  /** Returns the bytes registered when the pool is created, rounded up to whole slabs. */
  public long initialBytes() {
    return values.get(PoolSetting.INITIAL_BYTES);
  }

  /** Returns the bytes of the smallest class. */
  public int blockSize() {
    return Math.toIntExact(values.get(PoolSetting.BLOCK_SIZE));
  }

  /** Returns a copy of the block sizes, ascending. */
  public int[] blockSizes() {
    return values.get(PoolSetting.BLOCK_SIZES).stream().mapToInt(Math::toIntExact).toArray();
  }

  /** Returns the bytes of one slab, the unit of mapping, registering and giving back. */
  public int slabBytes() {
    return Math.toIntExact(values.get(PoolSetting.SLAB_BYTES));
  }

  /** Returns the most blocks of one class that one thread keeps for itself. */
  public int maxCached() {
    return values.get(PoolSetting.MAX_CACHED);
  }

  /**
   * Returns how long an unused slab is idle before it is PENDING, and again before it is
   * deregistered, in nanoseconds.
   */
  public long cleanupIntervalNs() {
    return values.get(PoolSetting.CLEANUP_INTERVAL).toNanos();
  }

  /** Returns the pages under the slabs. */
  public HugePages hugePages() {
    return values.get(PoolSetting.HUGE_PAGES);
  }

  /** Returns whether memory is placed local-first. */
  public boolean numaAware() {
    return values.get(PoolSetting.NUMA_AWARE);
  }

  /**
   * Returns the share of a class's registered blocks below which free ones make the class grow in
   * the background.
   */
  public double lowWatermark() {
    return values.get(PoolSetting.LOW_WATERMARK);
  }

  /**
   * Returns the share of allocations served by threads' caches below which a class grows in the
   * background.
   */
  public double hitRateThreshold() {
    return values.get(PoolSetting.HIT_RATE_THRESHOLD);
  }

  /** Returns the time over which that share is counted, in nanoseconds. */
  public long hitRateWindowNs() {
    return values.get(PoolSetting.HIT_RATE_WINDOW).toNanos();
  }

  /**
   * Returns whether the pool runs its own maintenance thread; if not, the user calls {@link
   * RegisteredBufferPool#maintain}.
   */
  public boolean backgroundThread() {
    return values.get(PoolSetting.BACKGROUND_THREAD);
  }

  /** Returns what an allocation does when nothing is free and the budget is spent. */
  public ExhaustionPolicy exhaustion() {
    return values.get(PoolSetting.EXHAUSTION);
  }

  /** Returns the longest wait with {@link ExhaustionPolicy#WAIT}, in nanoseconds. */
  public long exhaustionTimeoutNs() {
    return values.get(PoolSetting.EXHAUSTION_TIMEOUT).toNanos();
  }

  /** Returns the blocks kept apart for receives. */
  public int receiveReserveBlocks() {
    return values.get(PoolSetting.RECEIVE_RESERVE_BLOCKS);
  }

  /** Returns the class of those blocks, in bytes; the smallest one unless set. */
  public int receiveBlockSize() {
    return Math.toIntExact(values.get(PoolSetting.RECEIVE_BLOCK_SIZE));
  }

  /** Returns the bytes of a large object that are registered at a time. */
  public long largeSegmentBytes() {
    return values.get(PoolSetting.LARGE_SEGMENT_BYTES);
  }

  /** Returns the threads that register segments at a time. */
  public int registrationThreads() {
    return values.get(PoolSetting.REGISTRATION_THREADS);
  }

  /**
   * Returns one in how many hits in a thread's cache is timed, besides each slower allocation; a
   * power of two, or 0 for no times at all.
   */
  public int sampleEvery() {
    return values.get(PoolSetting.SAMPLE_EVERY);
  }

  /** Returns how long close waits for buffers still out, in nanoseconds. */
  public long closeTimeoutNs() {
    return values.get(PoolSetting.CLOSE_TIMEOUT).toNanos();
  }

  /** Returns a line for each setting: its property, value, where that came from, and meaning. */
  public String describe() {
    return values.describe();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof PoolConfig that && values.equals(that.values);
  }

  @Override
  public int hashCode() {
    return values.hashCode();
  }

  /** Returns the settings that were given; {@link #describe} has all. */
  @Override
  public String toString() {
    return "PoolConfig" + values;
  }

  /** Collects settings; {@link #build} validates them together. Not safe for several threads. */
  public static final class Builder {
    private final PoolValues given;

    private Builder(PoolValues given) {
      this.given = given;
    }

    /** Sets {@link #MAX_BYTES}. */
    public Builder maxBytes(long bytes) {
      return put(PoolSetting.MAX_BYTES, bytes);
    }

    /** Sets {@link #MIN_BYTES}. */
    public Builder minBytes(long bytes) {
      return put(PoolSetting.MIN_BYTES, bytes);
    }

    /** Sets {@link #INITIAL_BYTES}. */
    public Builder initialBytes(long bytes) {
      return put(PoolSetting.INITIAL_BYTES, bytes);
    }

    /** Sets {@link #BLOCK_SIZE}: four classes are made from it by doubling. */
    public Builder blockSize(int bytes) {
      return put(PoolSetting.BLOCK_SIZE, (long) bytes);
    }

    /** Sets {@link #BLOCK_SIZES}: multiples of 64 bytes, ascending, none above the slab. */
    public Builder blockSizes(int... bytes) {
      return put(
          PoolSetting.BLOCK_SIZES, Arrays.stream(bytes).mapToObj(size -> (long) size).toList());
    }

    /** Sets {@link #SLAB_BYTES}: whole pages; 2 MiB or more for huge pages. */
    public Builder slabBytes(int bytes) {
      return put(PoolSetting.SLAB_BYTES, (long) bytes);
    }

    /** Sets {@link #MAX_CACHED}: 0 for no thread caches at all. */
    public Builder maxCached(int blocks) {
      return put(PoolSetting.MAX_CACHED, blocks);
    }

    /** Sets {@link #CLEANUP_INTERVAL}. */
    public Builder cleanupInterval(Duration idle) {
      return put(PoolSetting.CLEANUP_INTERVAL, idle);
    }

    /** Sets {@link #HUGE_PAGES}. */
    public Builder hugePages(HugePages pages) {
      return put(PoolSetting.HUGE_PAGES, pages);
    }

    /** Sets {@link #NUMA_AWARE}. */
    public Builder numaAware(boolean aware) {
      return put(PoolSetting.NUMA_AWARE, aware);
    }

    /** Sets {@link #LOW_WATERMARK}: 0 to 1. */
    public Builder lowWatermark(double share) {
      return put(PoolSetting.LOW_WATERMARK, share);
    }

    /** Sets {@link #HIT_RATE_THRESHOLD}: 0 to 1. */
    public Builder hitRateThreshold(double share) {
      return put(PoolSetting.HIT_RATE_THRESHOLD, share);
    }

    /** Sets {@link #HIT_RATE_WINDOW}. */
    public Builder hitRateWindow(Duration window) {
      return put(PoolSetting.HIT_RATE_WINDOW, window);
    }

    /** Sets {@link #BACKGROUND_THREAD}. */
    public Builder backgroundThread(boolean own) {
      return put(PoolSetting.BACKGROUND_THREAD, own);
    }

    /** Sets {@link #EXHAUSTION}. */
    public Builder exhaustion(ExhaustionPolicy policy) {
      return put(PoolSetting.EXHAUSTION, policy);
    }

    /** Sets {@link #EXHAUSTION_TIMEOUT}. */
    public Builder exhaustionTimeout(Duration timeout) {
      return put(PoolSetting.EXHAUSTION_TIMEOUT, timeout);
    }

    /** Sets {@link #RECEIVE_RESERVE_BLOCKS}. */
    public Builder receiveReserveBlocks(int blocks) {
      return put(PoolSetting.RECEIVE_RESERVE_BLOCKS, blocks);
    }

    /** Sets {@link #RECEIVE_BLOCK_SIZE}: one of the block sizes. */
    public Builder receiveBlockSize(int bytes) {
      return put(PoolSetting.RECEIVE_BLOCK_SIZE, (long) bytes);
    }

    /** Sets {@link #LARGE_SEGMENT_BYTES}: whole pages. */
    public Builder largeSegmentBytes(long bytes) {
      return put(PoolSetting.LARGE_SEGMENT_BYTES, bytes);
    }

    /** Sets {@link #REGISTRATION_THREADS}. */
    public Builder registrationThreads(int threads) {
      return put(PoolSetting.REGISTRATION_THREADS, threads);
    }

    /** Sets {@link #SAMPLE_EVERY}: a power of two, or 0 for none. */
    public Builder sampleEvery(int allocations) {
      return put(PoolSetting.SAMPLE_EVERY, allocations);
    }

    /** Sets {@link #CLOSE_TIMEOUT}. */
    public Builder closeTimeout(Duration timeout) {
      return put(PoolSetting.CLOSE_TIMEOUT, timeout);
    }

    private <T> Builder put(PoolSetting<T> setting, T value) {
      given.put(setting, Objects.requireNonNull(value, setting.property()), Source.BUILDER);
      return this;
    }

    /**
     * Returns the settings.
     *
     * @throws IllegalArgumentException naming the setting that is out of range
     */
    public PoolConfig build() {
      return new PoolConfig(given.resolved());
    }
  }
}
