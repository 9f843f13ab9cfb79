package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigTextTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "1, 1",
    "4097, 4097",
    "8k, 8192",
    "8K, 8192",
    "2m, 2097152",
    "1G, 1073741824",
    "1024k, 1048576",
    "' 64k ', 65536",
    "0064, 64",
    "9223372036854775807, 9223372036854775807"
  })
  void bytes(String text, long bytes) {
    assertEquals(Optional.of(bytes), ConfigText.BYTES.parse(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "k",
        "-1",
        "+1",
        "1 k",
        "1kb",
        "1KiB",
        "1t",
        "1.5g",
        "1e9",
        "0x10",
        "1_000",
        "1,000",
        "\u0661",
        "9223372036854775808",
        "9007199254740992k",
        "8589934592g",
        "99999999999999999999"
      })
  void noBytes(String text) {
    assertEquals(Optional.empty(), ConfigText.BYTES.parse(text));
  }

  @ParameterizedTest
  @CsvSource({
    "250ms, 250000000",
    "5s, 5000000000",
    "1m, 60000000000",
    "2h, 7200000000000",
    "10us, 10000",
    "7ns, 7",
    "0, 0",
    "0s, 0",
    "' 5s ', 5000000000"
  })
  void durations(String text, long ns) {
    assertEquals(Optional.of(Duration.ofNanos(ns)), ConfigText.DURATION.parse(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "5",
        "00",
        "s",
        "-5s",
        "+5s",
        "5 s",
        "5S",
        "5M",
        "5sec",
        "5min",
        "1d",
        "1m30s",
        "0.5s",
        "PT5S",
        "9223372036854775807s",
        "99999999999999999999ns"
      })
  void noDurations(String text) {
    assertEquals(Optional.empty(), ConfigText.DURATION.parse(text));
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "1, 1", "0.125, 0.125", "1.0, 1", "007, 7"})
  void shares(String text, double share) {
    assertEquals(Optional.of(share), ConfigText.SHARE.parse(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        ".5",
        "1.",
        "-0.5",
        "+0.5",
        "12.5%",
        "1e-3",
        "0.5f",
        "0,5",
        "NaN",
        "Infinity",
        "0x1p-3"
      })
  void noShares(String text) {
    assertEquals(Optional.empty(), ConfigText.SHARE.parse(text));
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "' 64 ', 64", "2147483647, 2147483647"})
  void counts(String text, int count) {
    assertEquals(Optional.of(count), ConfigText.COUNT.parse(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-1", "64k", "1.0", "2147483648", "99999999999999999999"})
  void noCounts(String text) {
    assertEquals(Optional.empty(), ConfigText.COUNT.parse(text));
  }

  @Test
  void lists() {
    assertEquals(
        Optional.of(List.of(8192L, 16384L, 100L)), ConfigText.BYTE_LIST.parse(" 8k, 16k ,100 "));
    for (String text : List.of("", ",", "8k,", ",8k", "8k,,16k", "8k;16k", "8k 16k", "8k,-1")) {
      assertEquals(Optional.empty(), ConfigText.BYTE_LIST.parse(text), text);
    }
  }

  @Test
  void flagsAndNames() {
    assertEquals(Optional.of(true), ConfigText.FLAG.parse(" TRUE "));
    assertEquals(Optional.of(false), ConfigText.FLAG.parse("false"));
    for (String text : List.of("", "1", "yes", "on", "tru")) {
      assertEquals(Optional.empty(), ConfigText.FLAG.parse(text), text);
    }
    ConfigText<ExhaustionPolicy> policies = ConfigText.oneOf(ExhaustionPolicy.class);
    for (String text : List.of("FALL_BACK", "fall-back", " Fall_Back ")) {
      assertEquals(Optional.of(ExhaustionPolicy.FALL_BACK), policies.parse(text), text);
    }
    for (String text : List.of("", "fallback", "FAIL,WAIT", "0")) {
      assertEquals(Optional.empty(), policies.parse(text), text);
    }
    assertEquals("one of FAIL, WAIT, FALL_BACK", policies.form());
  }

  @Test
  void whatIsPrintedParsesToTheSameValue() {
    long seed = Long.getLong("seed", System.nanoTime());
    Random random = new Random(seed);
    for (int i = 0; i < 10_000; i++) {
      long n = random.nextLong() >>> (1 + random.nextInt(63));
      assertRoundTrip(ConfigText.BYTES, n, seed);
      assertRoundTrip(ConfigText.BYTES, (n >>> 31) << (10 * random.nextInt(4)), seed);
      assertRoundTrip(ConfigText.DURATION, Duration.ofNanos(n), seed);
      assertRoundTrip(ConfigText.DURATION, Duration.ofMinutes(random.nextInt(10_000)), seed);
      assertRoundTrip(ConfigText.COUNT, random.nextInt() >>> 1, seed);
      assertRoundTrip(ConfigText.SHARE, random.nextDouble() / (1 + random.nextInt(1 << 30)), seed);
    }
    assertEquals("90s", ConfigText.DURATION.print(Duration.ofSeconds(90)));
    assertEquals("100ms", ConfigText.DURATION.print(Duration.ofMillis(100)));
    assertEquals("1536k", ConfigText.BYTES.print(1536L << 10));
    assertEquals("0.00001", ConfigText.SHARE.print(1e-5));
  }

  private static <T> void assertRoundTrip(ConfigText<T> type, T value, long seed) {
    assertEquals(Optional.of(value), type.parse(type.print(value)), () -> "seed " + seed);
  }
}
