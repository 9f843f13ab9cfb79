package io.rdma4j.pool;

import java.time.Duration;
import java.util.Properties;

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

  /** Property: milliseconds for which a registration that nobody uses is kept. */
  public static final String MAX_IDLE_MS = "rdma4j.registrationCache.maxIdleMs";

  /** To find the least recently used, an eviction looks at all entries. */
  private static final int MOST_ENTRIES = 1 << 16;

  /** Ten years: well within what a difference of nanoseconds can tell. */
  private static final Duration LONGEST_IDLE = Duration.ofDays(3650);

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
    return "%s=%d %s=%d %s=%d"
        .formatted(MAX_ENTRIES, maxEntries, MAX_BYTES, maxBytes, MAX_IDLE_MS, maxIdle.toMillis());
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

    /** Sets {@link #MAX_IDLE_MS}. */
    public Builder maxIdle(Duration idle) {
      this.maxIdle = idle;
      return this;
    }

    private Builder readFrom(Properties properties) {
      maxEntries =
          PoolConfig.Builder.narrow(
              MAX_ENTRIES, PoolConfig.Builder.bytes(properties, MAX_ENTRIES, maxEntries));
      maxBytes = PoolConfig.Builder.bytes(properties, MAX_BYTES, maxBytes);
      maxIdle =
          Duration.ofMillis(PoolConfig.Builder.bytes(properties, MAX_IDLE_MS, maxIdle.toMillis()));
      return this;
    }

    /**
     * Returns the settings.
     *
     * @throws IllegalArgumentException naming the property that is out of range
     */
    public RegistrationCacheConfig build() {
      PoolConfig.Builder.check(
          maxEntries >= 1 && maxEntries <= MOST_ENTRIES,
          MAX_ENTRIES,
          maxEntries,
          "1 to " + MOST_ENTRIES);
      PoolConfig.Builder.check(maxBytes >= 1, MAX_BYTES, maxBytes, "at least 1");
      PoolConfig.Builder.check(
          !maxIdle.isNegative() && maxIdle.compareTo(LONGEST_IDLE) <= 0,
          MAX_IDLE_MS,
          maxIdle,
          "0 to " + LONGEST_IDLE.toMillis());
      return new RegistrationCacheConfig(this);
    }
  }
}
