package io.rdma4j.pool;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.LongStream;

/**
 * One setting of a pool: name, notation, range, default, and what an operator should know. Each is
 * declared here once; parsing, printing, validation and the table in docs/operating/pool.md follow
 * from it. What depends on several settings is in {@link PoolChecks}.
 */
final class PoolSetting<T> {
  /** What every property begins with. */
  static final String PROPERTY_PREFIX = "rdma4j.pool.";

  /** What every environment variable begins with. */
  static final String VARIABLE_PREFIX = "RDMA4J_POOL_";

  /** Blocks start at cache lines, so that no two of them share one. */
  static final int BLOCK_ALIGNMENT_BYTES = 64;

  /** Number of classes made from {@link #BLOCK_SIZE}. */
  static final int DOUBLED_CLASSES = 4;

  private static final long DEFAULT_BLOCK_BYTES = 8 << 10;

  /** With the receive reserve as many as a block state has bits for. */
  private static final int MOST_CLASSES = 31;

  private static final int MOST_CACHED = (1 << 16) - 2;
  private static final int MOST_THREADS = 64;
  private static final Duration LONGEST = Duration.ofHours(24);

  static final PoolSetting<Long> MAX_BYTES =
      new PoolSetting<>(
          PoolConfig.MAX_BYTES,
          ConfigText.BYTES,
          between(ConfigText.BYTES, 1L, 1L << 46),
          fixed(1L << 30),
          "most bytes that may be registered, everything together",
          "the peak of bytes in use, and a quarter on top",
          "registered memory is pinned: it can not be swapped, and each device's registration"
              + " counts against the locked-memory limit");

  static final PoolSetting<Long> MIN_BYTES =
      new PoolSetting<>(
          PoolConfig.MIN_BYTES,
          ConfigText.BYTES,
          between(ConfigText.BYTES, 0L, 1L << 46),
          derived("as initialBytes", values -> values.get(PoolSetting.INITIAL_BYTES)),
          "bytes that idle time never takes away",
          "the bytes in use in a busy hour; `maxBytes` to keep everything",
          "what stays registered need not be registered again by the next burst");

  static final PoolSetting<Long> INITIAL_BYTES =
      new PoolSetting<>(
          PoolConfig.INITIAL_BYTES,
          ConfigText.BYTES,
          between(ConfigText.BYTES, 0L, 1L << 46),
          fixed(0L),
          "bytes registered when the pool is created, spread over the classes slab by slab",
          "the bytes in use in a busy hour",
          "the first requests pay for no registration, and a locked-memory limit that is too low"
              + " shows at the start");

  static final PoolSetting<Long> BLOCK_SIZE =
      new PoolSetting<>(
          PoolConfig.BLOCK_SIZE,
          ConfigText.BYTES,
          new Range<>(
              "multiples of %d up to 128m".formatted(BLOCK_ALIGNMENT_BYTES),
              bytes -> isSize(bytes) && bytes <= 128L << 20),
          derived(
              ConfigText.BYTES.print(DEFAULT_BLOCK_BYTES),
              values ->
                  values.isGiven(PoolSetting.BLOCK_SIZES)
                      ? values.get(PoolSetting.BLOCK_SIZES).getFirst()
                      : DEFAULT_BLOCK_BYTES),
          "the smallest class; four classes are made from it by doubling",
          "16k when most messages are longer than 8k",
          "one figure moves all classes to where the messages are");

  static final PoolSetting<List<Long>> BLOCK_SIZES =
      new PoolSetting<>(
          PoolConfig.BLOCK_SIZES,
          ConfigText.BYTE_LIST,
          new Range<>(
              "1 to %d ascending multiples of %d".formatted(MOST_CLASSES, BLOCK_ALIGNMENT_BYTES),
              PoolSetting::areSizes),
          derived("8k,16k,32k,64k", values -> doubled(values.get(PoolSetting.BLOCK_SIZE))),
          "all classes, instead of blockSize",
          "only when your lengths are far from powers of two",
          "a buffer takes the smallest class that holds it; each class has slabs and caches of its"
              + " own");

  static final PoolSetting<Long> SLAB_BYTES =
      new PoolSetting<>(
          PoolConfig.SLAB_BYTES,
          ConfigText.BYTES,
          between(ConfigText.BYTES, 1L, 1L << 30),
          fixed(2L << 20),
          "bytes of one slab, the unit of mapping, registering and giving back",
          "2m; 16m and more for pools of many GiB",
          "one memory region for each slab and device, and devices have only so many (`max_mr`,"
              + " ibv_query_device(3)); a large slab is seldom idle as a whole");

  static final PoolSetting<Integer> MAX_CACHED =
      new PoolSetting<>(
          PoolConfig.MAX_CACHED,
          ConfigText.COUNT,
          between(ConfigText.COUNT, 0, MOST_CACHED),
          fixed(64),
          "most blocks of one class that one thread keeps for itself",
          "what a thread takes in one burst; 0 or 1 where blocks are few and threads many",
          "a hit in the cache touches nothing shared; idle blocks in caches are pinned all the"
              + " same");

  static final PoolSetting<Duration> CLEANUP_INTERVAL =
      new PoolSetting<>(
          PoolConfig.CLEANUP_INTERVAL,
          ConfigText.DURATION,
          between(ConfigText.DURATION, Duration.ofMillis(1), LONGEST),
          fixed(Duration.ofSeconds(5)),
          "idle time after which an unused slab is PENDING, and again until it is deregistered",
          "longer than the pause between two bursts",
          "when it is shorter, each burst registers again");

  static final PoolSetting<HugePages> HUGE_PAGES =
      new PoolSetting<>(
          PoolConfig.HUGE_PAGES,
          ConfigText.oneOf(HugePages.class),
          any(),
          fixed(HugePages.TRANSPARENT),
          "pages under the slabs",
          "EXPLICIT where pages are reserved for the service",
          "a page of 2 MiB is one to pin and to translate, instead of 512 of 4 KiB");

  static final PoolSetting<Boolean> NUMA_AWARE =
      new PoolSetting<>(
          PoolConfig.NUMA_AWARE,
          ConfigText.FLAG,
          any(),
          fixed(true),
          "place memory local-first",
          "true",
          "memory of the other socket is reached over the link between them; on machines of one"
              + " node there is nothing to do");

  static final PoolSetting<Double> LOW_WATERMARK =
      new PoolSetting<>(
          PoolConfig.LOW_WATERMARK,
          ConfigText.SHARE,
          between(ConfigText.SHARE, 0.0, 1.0),
          fixed(0.125),
          "share of a class's registered blocks that should be free; below it, the class grows in"
              + " the background",
          "0.25 for steep bursts; 0 to grow only when empty",
          "a caller that finds nothing free waits for the whole registration");

  static final PoolSetting<Double> HIT_RATE_THRESHOLD =
      new PoolSetting<>(
          PoolConfig.HIT_RATE_THRESHOLD,
          ConfigText.SHARE,
          between(ConfigText.SHARE, 0.0, 1.0),
          fixed(0.8),
          "share of allocations that threads' caches should serve; below it, the class grows in the"
              + " background",
          "0.8; 0 with `maxCached` 0",
          "misses mean that demand outruns what is at hand; without caches all are misses");

  static final PoolSetting<Duration> HIT_RATE_WINDOW =
      new PoolSetting<>(
          PoolConfig.HIT_RATE_WINDOW,
          ConfigText.DURATION,
          between(ConfigText.DURATION, Duration.ofMillis(1), LONGEST),
          fixed(Duration.ofSeconds(1)),
          "time over which that share is counted",
          "1s",
          "a short window takes a pause for a trend; a long one comes after the burst");

  static final PoolSetting<Boolean> BACKGROUND_THREAD =
      new PoolSetting<>(
          PoolConfig.BACKGROUND_THREAD,
          ConfigText.FLAG,
          any(),
          fixed(true),
          "run the pool's own maintenance thread",
          "true; false when a duty cycle of yours calls `maintain()`",
          "without either, nothing grows ahead of demand and nothing idle is given back");

  static final PoolSetting<ExhaustionPolicy> EXHAUSTION =
      new PoolSetting<>(
          PoolConfig.EXHAUSTION,
          ConfigText.oneOf(ExhaustionPolicy.class),
          any(),
          fixed(ExhaustionPolicy.FAIL),
          "what an allocation does when nothing is free and the budget is spent",
          "FAIL on polling threads; WAIT on threads that may block",
          "a poller that waits for its own releases waits in vain");

  static final PoolSetting<Duration> EXHAUSTION_TIMEOUT =
      new PoolSetting<>(
          PoolConfig.EXHAUSTION_TIMEOUT,
          ConfigText.DURATION,
          between(ConfigText.DURATION, Duration.ZERO, LONGEST),
          fixed(Duration.ofMillis(100)),
          "longest wait with WAIT",
          "less than the caller's own deadline",
          "a buffer that comes after the deadline is of no use");

  static final PoolSetting<Integer> RECEIVE_RESERVE_BLOCKS =
      new PoolSetting<>(
          PoolConfig.RECEIVE_RESERVE_BLOCKS,
          ConfigText.COUNT,
          between(ConfigText.COUNT, 0, 1 << 24),
          fixed(0),
          "blocks kept apart for receives",
          "receives posted at a time, all connections together",
          "senders that take all blocks would stop the receives that free them");

  static final PoolSetting<Long> RECEIVE_BLOCK_SIZE =
      new PoolSetting<>(
          PoolConfig.RECEIVE_BLOCK_SIZE,
          ConfigText.BYTES,
          new Range<>("one of the block sizes", PoolSetting::isSize),
          derived("the smallest class", values -> values.get(PoolSetting.BLOCK_SIZE)),
          "class of those blocks",
          "the class of the largest message that a peer may send",
          "a message longer than the posted receive puts the queue pair into the error state");

  static final PoolSetting<Long> LARGE_SEGMENT_BYTES =
      new PoolSetting<>(
          PoolConfig.LARGE_SEGMENT_BYTES,
          ConfigText.BYTES,
          between(ConfigText.BYTES, 1L, 1L << 30),
          fixed(64L << 20),
          "bytes of a large object that are registered at a time",
          "64m",
          "the object can be used from its first segment on; smaller segments mean more memory"
              + " regions");

  static final PoolSetting<Integer> REGISTRATION_THREADS =
      new PoolSetting<>(
          PoolConfig.REGISTRATION_THREADS,
          ConfigText.COUNT,
          between(ConfigText.COUNT, 1, MOST_THREADS),
          derived(
              "processors, at most 4",
              values -> Math.min(4, Runtime.getRuntime().availableProcessors())),
          "threads that register segments at a time",
          "4; more on large machines, as long as the time to register falls",
          "pinning is work of the kernel for each page, and segments do not depend on each other");

  static final PoolSetting<Integer> SAMPLE_EVERY =
      new PoolSetting<>(
          PoolConfig.SAMPLE_EVERY,
          ConfigText.COUNT,
          new Range<>(
              "0 or a power of two up to " + (1 << 30),
              n -> n == 0 || (n > 0 && Integer.bitCount(n) == 1)),
          fixed(1024),
          "one in so many hits in a thread's cache is timed, and each slower allocation; 0 for"
              + " none",
          "1024",
          "reading the clock takes longer than an allocation");

  static final PoolSetting<Duration> CLOSE_TIMEOUT =
      new PoolSetting<>(
          PoolConfig.CLOSE_TIMEOUT,
          ConfigText.DURATION,
          between(ConfigText.DURATION, Duration.ZERO, LONGEST),
          fixed(Duration.ZERO),
          "how long close waits for buffers still out",
          "1s where other threads release late; 0 in tests, so that leaks show",
          "the memory of a buffer that is still out stays mapped until its release");

  /** All settings, in the order of the documents. */
  static final List<PoolSetting<?>> ALL =
      List.of(
          MAX_BYTES,
          MIN_BYTES,
          INITIAL_BYTES,
          BLOCK_SIZE,
          BLOCK_SIZES,
          SLAB_BYTES,
          MAX_CACHED,
          CLEANUP_INTERVAL,
          HUGE_PAGES,
          NUMA_AWARE,
          LOW_WATERMARK,
          HIT_RATE_THRESHOLD,
          HIT_RATE_WINDOW,
          BACKGROUND_THREAD,
          EXHAUSTION,
          EXHAUSTION_TIMEOUT,
          RECEIVE_RESERVE_BLOCKS,
          RECEIVE_BLOCK_SIZE,
          LARGE_SEGMENT_BYTES,
          REGISTRATION_THREADS,
          SAMPLE_EVERY,
          CLOSE_TIMEOUT);

  private final String property;
  private final String variable;
  private final ConfigText<T> text;
  private final Range<T> range;
  private final Default<T> fallback;
  private final String meaning;
  private final String advice;
  private final String reason;

  private PoolSetting(
      String property,
      ConfigText<T> text,
      Range<T> range,
      Default<T> fallback,
      String meaning,
      String advice,
      String reason) {
    this.property = property;
    this.variable = variableOf(property);
    this.text = text;
    this.range = range;
    this.fallback = fallback;
    this.meaning = meaning;
    this.advice = advice;
    this.reason = reason;
  }

  private static String variableOf(String property) {
    String name = property.substring(PROPERTY_PREFIX.length());
    return VARIABLE_PREFIX + name.replaceAll("([A-Z])", "_$1").toUpperCase(Locale.ROOT);
  }

  String property() {
    return property;
  }

  String variable() {
    return variable;
  }

  ConfigText<T> text() {
    return text;
  }

  /** Returns the default as it would be written, or in words where it depends on others. */
  String defaultText() {
    return fallback.words().apply(text);
  }

  T defaultFor(PoolValues values) {
    return fallback.value().apply(values);
  }

  boolean isInRange(T value) {
    return range.holds().test(value);
  }

  /** Returns range and notation in words. */
  String valid() {
    return range.words().isEmpty() ? text.form() : range.words() + "; " + text.form();
  }

  String meaning() {
    return meaning;
  }

  String advice() {
    return advice;
  }

  String reason() {
    return reason;
  }

  /** Returns the classes that come from a smallest one. */
  static List<Long> doubled(long smallestBytes) {
    return LongStream.range(0, DOUBLED_CLASSES).mapToObj(power -> smallestBytes << power).toList();
  }

  private static boolean isSize(long bytes) {
    return bytes > 0 && bytes <= 1L << 30 && bytes % BLOCK_ALIGNMENT_BYTES == 0;
  }

  private static boolean areSizes(List<Long> sizes) {
    long previous = 0;
    for (long bytes : sizes) {
      if (!isSize(bytes) || bytes <= previous) {
        return false;
      }
      previous = bytes;
    }
    return !sizes.isEmpty() && sizes.size() <= MOST_CLASSES;
  }

  private static <C extends Comparable<C>> Range<C> between(ConfigText<C> text, C low, C high) {
    return new Range<>(
        text.print(low) + " to " + text.print(high),
        value -> value.compareTo(low) >= 0 && value.compareTo(high) <= 0);
  }

  /** The notation says what is valid. */
  private static <T> Range<T> any() {
    return new Range<>("", value -> true);
  }

  private static <T> Default<T> fixed(T value) {
    return new Default<>(text -> text.print(value), values -> value);
  }

  private static <T> Default<T> derived(String words, Function<PoolValues, T> value) {
    return new Default<>(text -> words, value);
  }

  @Override
  public String toString() {
    return property;
  }

  private record Range<T>(String words, Predicate<T> holds) {}

  private record Default<T>(Function<ConfigText<T>, String> words, Function<PoolValues, T> value) {}
}
