package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each setting by itself and its sources; settings together: {@link PoolChecksTest}. */
class PoolConfigTest {
  static List<PoolSettingExample> examples() {
    return PoolSettingExample.all();
  }

  @Test
  void everySettingHasAnExample() {
    assertEquals(PoolSetting.ALL, examples().stream().map(PoolSettingExample::setting).toList());
  }

  @ParameterizedTest
  @MethodSource("examples")
  void hasItsDefault(PoolSettingExample example) {
    assertEquals(example.byDefault(), example.accessor().apply(PoolConfig.defaults()));
    PoolConfig none = PoolConfig.fromEnvironment(new Properties(), Map.of("PATH", "/bin"));
    assertEquals(example.byDefault(), example.accessor().apply(none));
    assertDescribed(none, example, "default");
  }

  @ParameterizedTest
  @MethodSource("examples")
  void isTakenFromThePropertyTheVariableAndTheBuilder(PoolSettingExample example) {
    assertNotEquals(example.byDefault(), example.value());
    PoolConfig property = read(example.property(), " " + example.text() + " ");
    PoolConfig variable =
        PoolConfig.fromEnvironment(
            new Properties(), Map.of(example.setting().variable(), example.text()));
    PoolConfig builder = example.set().apply(PoolConfig.builder()).build();
    assertEquals(example.value(), example.accessor().apply(property));
    assertEquals(example.value(), example.accessor().apply(variable));
    assertEquals(example.value(), example.accessor().apply(builder));
    assertDescribed(property, example, "property");
    assertDescribed(variable, example, "environment");
    assertDescribed(builder, example, "builder");
    assertEquals(property, builder);
    assertEquals(property.hashCode(), builder.hashCode());
    assertNotEquals(PoolConfig.defaults(), builder);
    assertTrue(builder.toString().contains(example.property() + "="), builder.toString());
  }

  /** The text that is not used may be anything: it is how an operator gets past a bad image. */
  @ParameterizedTest
  @MethodSource("examples")
  void aPropertyGoesBeforeTheVariableAndTheBuilderBeforeBoth(PoolSettingExample example) {
    PoolConfig config =
        PoolConfig.fromEnvironment(
            properties(example.property(), example.text()),
            Map.of(example.setting().variable(), "nonsense"));
    assertEquals(example.value(), example.accessor().apply(config));
    assertDescribed(config, example, "property");
    PoolConfig other =
        PoolConfig.fromEnvironment(
            new Properties(), Map.of(example.setting().variable(), example.text()));
    PoolConfig again = example.set().apply(other.toBuilder()).build();
    assertDescribed(again, example, "builder");
    assertEquals(other, again);
    assertEquals(other, other.toBuilder().build());
  }

  @ParameterizedTest
  @MethodSource("examples")
  void badValuesAreRefusedWithNameValueAndSource(PoolSettingExample example) {
    String variable = example.setting().variable();
    for (String bad : example.bad()) {
      assertRefused(
          () -> PoolConfig.fromProperties(properties(example.property(), bad)),
          example.property() + " is ",
          "(from a property); valid: ");
      assertRefused(
          () -> PoolConfig.fromEnvironment(new Properties(), Map.of(variable, bad)),
          example.property() + " is ",
          "(from environment variable " + variable + "); valid: ");
    }
  }

  @Test
  void theBuilderRefusesWhatItsTypesLetThrough() {
    PoolConfig.Builder[] bad = {
      PoolConfig.builder().maxBytes(-1),
      PoolConfig.builder().maxBytes(Long.MAX_VALUE),
      PoolConfig.builder().minBytes(-1),
      PoolConfig.builder().initialBytes(Long.MIN_VALUE),
      PoolConfig.builder().blockSize(Integer.MIN_VALUE),
      PoolConfig.builder().blockSizes(),
      PoolConfig.builder().blockSizes(new int[65]),
      PoolConfig.builder().blockSizes(-64, 64),
      PoolConfig.builder().slabBytes(Integer.MAX_VALUE),
      PoolConfig.builder().maxCached(-1),
      PoolConfig.builder().cleanupInterval(Duration.ofSeconds(Long.MAX_VALUE)),
      PoolConfig.builder().cleanupInterval(Duration.ofSeconds(Long.MIN_VALUE)),
      PoolConfig.builder().lowWatermark(Double.NaN),
      PoolConfig.builder().lowWatermark(Double.POSITIVE_INFINITY),
      PoolConfig.builder().hitRateThreshold(-Double.MIN_VALUE),
      PoolConfig.builder().receiveReserveBlocks(-1),
      PoolConfig.builder().largeSegmentBytes(Long.MAX_VALUE),
      PoolConfig.builder().registrationThreads(0),
      PoolConfig.builder().sampleEvery(Integer.MIN_VALUE),
      PoolConfig.builder().closeTimeout(Duration.ofNanos(-1)),
    };
    for (PoolConfig.Builder builder : bad) {
      assertRefused(builder::build, PoolSetting.PROPERTY_PREFIX, "(from the builder); valid: ");
    }
  }

  @Test
  void aComplaintHasValueAndRange() {
    assertEquals(
        "rdma4j.pool.maxCached is 70000 (from environment variable RDMA4J_POOL_MAX_CACHED);"
            + " valid: 0 to 65534; a whole number",
        complaint(
            () ->
                PoolConfig.fromEnvironment(
                    new Properties(), Map.of("RDMA4J_POOL_MAX_CACHED", "70000"))));
    assertEquals(
        "rdma4j.pool.cleanupInterval is '5' (from a property); valid: 1ms to 24h; a whole number"
            + " with its unit: ns, us, ms, s, m (minutes) or h",
        complaint(() -> read(PoolConfig.CLEANUP_INTERVAL, "5")));
    assertEquals(
        "rdma4j.pool.hugePages is 'true' (from a property); valid: one of NONE, TRANSPARENT,"
            + " EXPLICIT",
        complaint(() -> read(PoolConfig.HUGE_PAGES, "true")));
  }

  @Test
  void unknownNamesAreRefusedWithTheNearestOne() {
    Map<String, String> typos =
        Map.of(
            "rdma4j.pool.maxCache", "rdma4j.pool.maxCached",
            "rdma4j.pool.maxcached", "rdma4j.pool.maxCached",
            "rdma4j.pool.blockSzie", "rdma4j.pool.blockSize",
            "rdma4j.pool.cleanup_interval", "rdma4j.pool.cleanupInterval",
            "rdma4j.pool.", "rdma4j.pool.maxBytes");
    typos.forEach(
        (typo, known) ->
            assertEquals(
                "unknown property " + typo + "; the nearest known name is " + known,
                complaint(() -> read(typo, "1"))));
    assertEquals(
        "unknown environment variable RDMA4J_POOL_MAXCACHED; the nearest known name is"
            + " RDMA4J_POOL_MAX_CACHED",
        complaint(
            () ->
                PoolConfig.fromEnvironment(
                    new Properties(), Map.of("RDMA4J_POOL_MAXCACHED", "1"))));
    // Others' names are none of the pool's business.
    Map<String, String> others = Map.of("RDMA4J_LAB_TIMEOUT", "1", "RDMA4J_JAVA_OPTS", "-Xint");
    assertEquals(
        PoolConfig.defaults(),
        PoolConfig.fromEnvironment(properties("rdma4j.shm.directory", "/x"), others));
  }

  @Test
  void distanceIsTheNumberOfEdits() {
    assertEquals(0, PoolSources.distance("", ""));
    assertEquals(3, PoolSources.distance("", "abc"));
    assertEquals(3, PoolSources.distance("abc", ""));
    assertEquals(3, PoolSources.distance("kitten", "sitting"));
    assertEquals(2, PoolSources.distance("ab", "ba"));
  }

  @Test
  void propertiesThatAreNoTextAreRefused() {
    Properties properties = new Properties();
    properties.put(PoolConfig.MAX_CACHED, 64);
    assertEquals(
        "property rdma4j.pool.maxCached is of class java.lang.Integer; set it as text",
        complaint(() -> PoolConfig.fromProperties(properties)));
  }

  @Test
  void propertiesBehindPropertiesCount() {
    Properties behind = properties(PoolConfig.MAX_CACHED, "7");
    assertEquals(7, PoolConfig.fromProperties(new Properties(behind)).maxCached());
    Properties typo = properties("rdma4j.pool.maxCache", "7");
    assertThrows(
        IllegalArgumentException.class, () -> PoolConfig.fromProperties(new Properties(typo)));
  }

  @Test
  void theProcessesOwnEnvironmentIsRead() {
    System.setProperty(PoolConfig.SAMPLE_EVERY, "2048");
    try {
      assertEquals(2048, PoolConfig.fromEnvironment().sampleEvery());
      assertEquals(1024, PoolConfig.defaults().sampleEvery());
      assertEquals(1024, PoolConfig.builder().build().sampleEvery());
    } finally {
      System.clearProperty(PoolConfig.SAMPLE_EVERY);
    }
  }

  @Test
  void isDescribedInAlignedLines() {
    PoolConfig config =
        PoolConfig.fromEnvironment(
            properties(PoolConfig.MAX_BYTES, "512m"), Map.of("RDMA4J_POOL_EXHAUSTION", "wait"));
    List<String> lines = config.describe().lines().toList();
    assertEquals(PoolSetting.ALL.size(), lines.size());
    int value = lines.getFirst().indexOf("512m");
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      PoolSetting<?> setting = PoolSetting.ALL.get(i);
      assertTrue(line.startsWith(setting.property() + " "), line);
      assertTrue(line.endsWith("  " + setting.meaning()), line);
      assertTrue(line.charAt(value - 1) == ' ' && line.charAt(value) != ' ', line);
    }
    assertEquals("PoolConfig[]", PoolConfig.defaults().toString());
    assertEquals(
        "PoolConfig[rdma4j.pool.maxBytes=512m, rdma4j.pool.exhaustion=WAIT]", config.toString());
  }

  @Test
  void changesOfABuilderOrAnArrayDoNotReachAConfig() {
    int[] sizes = {4096, 8192};
    PoolConfig.Builder builder = PoolConfig.builder().blockSizes(sizes).maxCached(1);
    PoolConfig first = builder.build();
    sizes[0] = 64;
    first.blockSizes()[0] = 64;
    PoolConfig second = builder.maxCached(2).build();
    assertArrayEquals(new int[] {4096, 8192}, first.blockSizes());
    assertEquals(1, first.maxCached());
    assertEquals(2, second.maxCached());
    assertEquals(3, second.toBuilder().maxCached(3).build().maxCached());
    assertEquals(2, second.maxCached());
  }

  private static PoolConfig read(String property, String text) {
    return PoolConfig.fromProperties(properties(property, text));
  }

  private static Properties properties(String name, String text) {
    Properties properties = new Properties();
    properties.setProperty(name, text);
    return properties;
  }

  /** Looks for the line of the setting, with its source. */
  private static void assertDescribed(
      PoolConfig config, PoolSettingExample example, String source) {
    String line =
        config
            .describe()
            .lines()
            .filter(l -> l.startsWith(example.property() + " "))
            .findFirst()
            .orElseThrow();
    assertTrue(line.contains("  " + source + " "), line);
  }

  private static void assertRefused(Executable call, String... parts) {
    String message = complaint(call);
    for (String part : parts) {
      assertTrue(message.contains(part), message);
    }
  }

  private static String complaint(Executable call) {
    return String.valueOf(assertThrows(IllegalArgumentException.class, call).getMessage());
  }
}
