package io.rdma4j.pool;

import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * Settings of a {@link RegistrationCache}: immutable, validated when built. Each has a system
 * property, named in every complaint about its value; {@link #fromProperties} reads them.
 */
public final class RegistrationCacheConfig {
  /** Property: most registrations that are kept. */
  public static final String MAX_ENTRIES = "rdma4j.registrationCache.maxEntries";

  /**
   * Property: most bytes in the registrations that are kept; takes {@code k}, {@code m}, {@code g}.
   */
  public static final String MAX_BYTES = "rdma4j.registrationCache.maxBytes";

  /** Property: time for which a registration that nobody uses is kept, with its unit. */
  public static final String MAX_IDLE = "rdma4j.registrationCache.maxIdle";

  /** To find the least recently used, an eviction looks at all entries. */
  private static final int MOST_ENTRIES = 1 << 16;

  /** Ten years: well within what a difference of nanoseconds can tell. */
  private static final Duration LONGEST_IDLE = Duration.ofDays(3650);

  private static final Map<String, Long> MILLISECOND_UNITS =
      Map.of("ms", 1L, "s", 1000L, "m", 60_000L, "h", 3_600_000L);

  private static final RegistrationCacheConfig DEFAULTS = builder().build();

  private final int maxEntries;
  private final long maxBytes;
  private final Duration maxIdle;

  private RegistrationCacheConfig(Builder builder) {
    this.maxEntries = builder.maxEntries;
    this.maxBytes = builder.maxBytes;
    this.maxIdle = builder.maxIdle;
  }

  /** Returns the defaults: 1024 registrations, 1 GiB, kept for a minute without use. */
  public static RegistrationCacheConfig defaults() {
    return DEFAULTS;
  }

  /** Returns a builder that starts from the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Returns the settings in {@code properties}, for example {@link System#getProperties()}, and
   * defaults for the others.
   *
   * @throws IllegalArgumentException naming the property whose value is malformed or out of range
   */
  public static RegistrationCacheConfig fromProperties(Properties properties) {
    return builder().readFrom(properties).build();
  }

  /** Returns the most registrations that are kept. */
  public int maxEntries() {
    return maxEntries;
  }

  /** Returns the most bytes in the registrations that are kept. */
  public long maxBytes() {
    return maxBytes;
  }

  /** Returns how long a registration that nobody uses is kept. */
  public Duration maxIdle() {
    return maxIdle;
  }

  @Override
  public String toString() {
    return "%s=%d %s=%d %s=%dms"
        .formatted(MAX_ENTRIES, maxEntries, MAX_BYTES, maxBytes, MAX_IDLE, maxIdle.toMillis());
  }

  /** Collects settings; {@link #build} validates them together. Not safe for several threads. */
  public static final class Builder {
    private int maxEntries = 1024;
    private long maxBytes = 1L << 30;
    private Duration maxIdle = Duration.ofMinutes(1);

    private Builder() {}

    /** Sets {@link #MAX_ENTRIES}. */
    public Builder maxEntries(int entries) {
      this.maxEntries = entries;
      return this;
    }

    /** Sets {@link #MAX_BYTES}. */
    public Builder maxBytes(long bytes) {
      this.maxBytes = bytes;
      return this;
    }

    /** Sets {@link #MAX_IDLE}. */
    public Builder maxIdle(Duration idle) {
      this.maxIdle = idle;
      return this;
    }

    private Builder readFrom(Properties properties) {
      String entries = properties.getProperty(MAX_ENTRIES);
      if (entries != null) {
        // What does not fit is out of range as well.
        maxEntries = (int) Math.min(wholeNumber(MAX_ENTRIES, entries), Integer.MAX_VALUE);
      }
      String bytes = properties.getProperty(MAX_BYTES);
      if (bytes != null) {
        maxBytes = wholeNumber(MAX_BYTES, bytes);
      }
      String idle = properties.getProperty(MAX_IDLE);
      if (idle != null) {
        maxIdle = Duration.ofMillis(milliseconds(MAX_IDLE, idle));
      }
      return this;
    }

    private static long wholeNumber(String property, String text) {
      return ConfigText.BYTES
          .parse(text)
          .orElseThrow(() -> malformed(property, text, "a whole number, with k, m or g", null));
    }

    private static long milliseconds(String property, String text) {
      String form = "a whole number with ms, s, m or h";
      String value = text.strip().toLowerCase(Locale.ROOT);
      int digits = 0;
      while (digits < value.length() && Character.isDigit(value.charAt(digits))) {
        digits++;
      }
      Long unit = MILLISECOND_UNITS.get(value.substring(digits));
      try {
        if (unit != null) {
          return Math.multiplyExact(Long.parseLong(value.substring(0, digits)), unit);
        }
      } catch (NumberFormatException | ArithmeticException e) {
        throw malformed(property, text, form, e);
      }
      throw malformed(property, text, form, null);
    }

    private static IllegalArgumentException malformed(
        String property, String text, String form, @Nullable Throwable cause) {
      return new IllegalArgumentException(
          "%s is '%s'; valid: %s".formatted(property, text, form), cause);
    }

    /**
     * Returns the settings.
     *
     * @throws IllegalArgumentException naming the property that is out of range
     */
    public RegistrationCacheConfig build() {
      check(
          maxEntries >= 1 && maxEntries <= MOST_ENTRIES,
          MAX_ENTRIES,
          maxEntries,
          "1 to " + MOST_ENTRIES);
      check(maxBytes >= 1, MAX_BYTES, maxBytes, "at least 1");
      check(
          !maxIdle.isNegative() && maxIdle.compareTo(LONGEST_IDLE) <= 0,
          MAX_IDLE,
          maxIdle,
          "0 to " + LONGEST_IDLE.toHours() + "h");
      return new RegistrationCacheConfig(this);
    }

    private static void check(boolean valid, String property, Object value, String range) {
      if (!valid) {
        throw new IllegalArgumentException("%s is %s; valid: %s".formatted(property, value, range));
      }
    }
  }
}
