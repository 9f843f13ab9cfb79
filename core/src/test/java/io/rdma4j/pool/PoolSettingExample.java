package io.rdma4j.pool;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * What one setting must do.
 *
 * @param setting as declared
 * @param accessor of the finished config
 * @param byDefault what the accessor returns by default
 * @param text a good value, other than the default
 * @param value what the accessor returns for it
 * @param set sets the same value
 * @param bad texts that are refused
 */
record PoolSettingExample(
    PoolSetting<?> setting,
    Function<PoolConfig, Object> accessor,
    Object byDefault,
    String text,
    Object value,
    UnaryOperator<PoolConfig.Builder> set,
    List<String> bad) {
  static List<PoolSettingExample> all() {
    int processors = Runtime.getRuntime().availableProcessors();
    return List.of(
        of(PoolConfig.MAX_BYTES, PoolConfig::maxBytes, 1L << 30)
            .takes("3g", 3L << 30, b -> b.maxBytes(3L << 30))
            .refuses("0", "65537g"),
        of(PoolConfig.MIN_BYTES, PoolConfig::minBytes, 0L)
            .takes("4m", 4L << 20, b -> b.minBytes(4 << 20))
            .refuses("65537g"),
        of(PoolConfig.INITIAL_BYTES, PoolConfig::initialBytes, 0L)
            .takes("5m", 5L << 20, b -> b.initialBytes(5 << 20))
            .refuses("65537g"),
        of(PoolConfig.BLOCK_SIZE, PoolConfig::blockSize, 8192)
            .takes("16k", 16384, b -> b.blockSize(16384))
            .refuses("0", "1", "100", "129m"),
        of(PoolConfig.BLOCK_SIZES, c -> list(c.blockSizes()), list(8192, 16384, 32768, 65536))
            .takes(
                "4k, 20k,1m", list(4096, 20480, 1 << 20), b -> b.blockSizes(4096, 20480, 1 << 20))
            .refuses("0", "100", "8k,8k", "16k,8k", "8k,,16k", "8k,", "3g", "-8k", "8589934592g"),
        of(PoolConfig.SLAB_BYTES, PoolConfig::slabBytes, 2 << 20)
            .takes("16m", 16 << 20, b -> b.slabBytes(16 << 20))
            .refuses("0", "2g", "1025m", "2097153"),
        of(PoolConfig.MAX_CACHED, PoolConfig::maxCached, 64)
            .takes("0", 0, b -> b.maxCached(0))
            .refuses("65536"),
        of(PoolConfig.CLEANUP_INTERVAL, PoolConfig::cleanupIntervalNs, 5_000_000_000L)
            .takes("250ms", 250_000_000L, b -> b.cleanupInterval(Duration.ofMillis(250)))
            .refuses("0", "999us", "25h"),
        of(PoolConfig.HUGE_PAGES, PoolConfig::hugePages, HugePages.TRANSPARENT)
            .takes("explicit", HugePages.EXPLICIT, b -> b.hugePages(HugePages.EXPLICIT))
            .refuses("true", "NONE,EXPLICIT"),
        of(PoolConfig.NUMA_AWARE, PoolConfig::numaAware, true)
            .takes("false", false, b -> b.numaAware(false))
            .refuses("0", "no"),
        of(PoolConfig.LOW_WATERMARK, PoolConfig::lowWatermark, 0.125)
            .takes("0.5", 0.5, b -> b.lowWatermark(0.5))
            .refuses("1.01"),
        of(PoolConfig.HIT_RATE_THRESHOLD, PoolConfig::hitRateThreshold, 0.8)
            .takes("0", 0.0, b -> b.hitRateThreshold(0))
            .refuses("1.01"),
        of(PoolConfig.HIT_RATE_WINDOW, PoolConfig::hitRateWindowNs, 1_000_000_000L)
            .takes("1m", 60_000_000_000L, b -> b.hitRateWindow(Duration.ofMinutes(1)))
            .refuses("0", "999us", "25h"),
        of(PoolConfig.BACKGROUND_THREAD, PoolConfig::backgroundThread, true)
            .takes("FALSE", false, b -> b.backgroundThread(false))
            .refuses("1", "off"),
        of(PoolConfig.EXHAUSTION, PoolConfig::exhaustion, ExhaustionPolicy.FAIL)
            .takes(
                "fall-back",
                ExhaustionPolicy.FALL_BACK,
                b -> b.exhaustion(ExhaustionPolicy.FALL_BACK))
            .refuses("fallback", "WAIT 5s"),
        of(PoolConfig.EXHAUSTION_TIMEOUT, PoolConfig::exhaustionTimeoutNs, 100_000_000L)
            .takes("0", 0L, b -> b.exhaustionTimeout(Duration.ZERO))
            .refuses("25h"),
        of(PoolConfig.RECEIVE_RESERVE_BLOCKS, PoolConfig::receiveReserveBlocks, 0)
            .takes("512", 512, b -> b.receiveReserveBlocks(512))
            .refuses("16777217"),
        of(PoolConfig.RECEIVE_BLOCK_SIZE, PoolConfig::receiveBlockSize, 8192)
            .takes("64k", 65536, b -> b.receiveBlockSize(65536))
            .refuses("0", "4k", "2g"),
        of(PoolConfig.LARGE_SEGMENT_BYTES, PoolConfig::largeSegmentBytes, 64L << 20)
            .takes("1g", 1L << 30, b -> b.largeSegmentBytes(1L << 30))
            .refuses("0", "1025m", "64"),
        of(
                PoolConfig.REGISTRATION_THREADS,
                PoolConfig::registrationThreads,
                Math.min(4, processors))
            .takes("7", 7, b -> b.registrationThreads(7))
            .refuses("0", "65"),
        of(PoolConfig.SAMPLE_EVERY, PoolConfig::sampleEvery, 1024)
            .takes("0", 0, b -> b.sampleEvery(0))
            .refuses("3", "1000", "2147483647"),
        of(PoolConfig.CLOSE_TIMEOUT, PoolConfig::closeTimeoutNs, 0L)
            .takes("1s", 1_000_000_000L, b -> b.closeTimeout(Duration.ofSeconds(1)))
            .refuses("25h"));
  }

  private static PoolSettingExample of(
      String property, Function<PoolConfig, Object> accessor, Object byDefault) {
    PoolSetting<?> setting =
        PoolSetting.ALL.stream()
            .filter(s -> s.property().equals(property))
            .findFirst()
            .orElseThrow();
    return new PoolSettingExample(
        setting, accessor, byDefault, "", byDefault, UnaryOperator.identity(), List.of());
  }

  private PoolSettingExample takes(
      String good, Object itsValue, UnaryOperator<PoolConfig.Builder> setter) {
    return new PoolSettingExample(setting, accessor, byDefault, good, itsValue, setter, bad);
  }

  /** Refuses these, and what is wrong for all settings of the type. */
  private PoolSettingExample refuses(String... texts) {
    List<String> all =
        Stream.of(List.of(texts), badOfType(), List.of("", " ", "\t", "x"))
            .flatMap(List::stream)
            .toList();
    return new PoolSettingExample(setting, accessor, byDefault, text, value, set, all);
  }

  private List<String> badOfType() {
    ConfigText<?> type = setting.text();
    if (type.equals(ConfigText.BYTES)) {
      return List.of("-1", "+1", "1.5g", "8kb", "8 k", "9223372036854775808", "9007199254740992k");
    } else if (type.equals(ConfigText.COUNT)) {
      return List.of("-1", "+1", "64k", "1.0", "2147483648", "99999999999999999999");
    } else if (type.equals(ConfigText.DURATION)) {
      return List.of("5", "-5s", "5 s", "5sec", "0.5s", "1m30s", "99999999999h");
    } else if (type.equals(ConfigText.SHARE)) {
      return List.of("-0.1", "2", "50%", "1e-3", "NaN", ".5");
    }
    return List.of("-1", "nonsense");
  }

  private static List<Integer> list(int... bytes) {
    return Arrays.stream(bytes).boxed().toList();
  }

  String property() {
    return setting.property();
  }

  @Override
  public String toString() {
    return property();
  }
}
