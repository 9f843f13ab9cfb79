package io.rdma4j.pool;

import io.rdma4j.os.Mapping;
import java.util.Arrays;
import java.util.Locale;
import java.util.Properties;

/**
 * Settings of a {@link RegisteredBufferPool}: immutable, validated when built. Each has a system
 * property, named in every complaint about its value; {@link #fromProperties} reads them.
 *
 * <p>Byte values in properties take the suffixes {@code k}, {@code m} and {@code g} (powers of
 * 1024).
 */
public final class PoolConfig {
  /** Property: bytes the pool may register, all classes together. */
  public static final String MAX_BYTES = "rdma4j.pool.maxBytes";

  /** Property: block sizes of the classes, ascending, separated by commas. */
  public static final String BLOCK_SIZES = "rdma4j.pool.blockSizes";

  /** Property: bytes of one slab, the unit of mapping and registration. */
  public static final String SLAB_BYTES = "rdma4j.pool.slabBytes";

  /** Property: most blocks of one class that one thread keeps for itself. */
  public static final String MAX_CACHED = "rdma4j.pool.maxCached";

  /** Property: bytes registered when the pool is created, spread over the classes slab by slab. */
  public static final String INITIAL_BYTES = "rdma4j.pool.initialBytes";

  /** Property: whether slabs ask for huge pages. */
  public static final String HUGE_PAGES = "rdma4j.pool.hugePages";

  /** Blocks start at cache lines, so that no two of them share one. */
  static final int BLOCK_ALIGNMENT_BYTES = 64;

  private static final int[] DEFAULT_BLOCK_SIZES = {8 << 10, 16 << 10, 32 << 10, 64 << 10};
  private static final int MOST_CACHED = (1 << 16) - 1;
  private static final int MOST_CLASSES = 64;

  private static final PoolConfig DEFAULTS = builder().build();

  private final long maxBytes;
  private final int[] blockSizes;
  private final int slabBytes;
  private final int maxCached;
  private final long initialBytes;
  private final boolean hugePages;

  private PoolConfig(Builder builder) {
    this.maxBytes = builder.maxBytes;
    this.blockSizes = builder.blockSizes.clone();
    this.slabBytes = builder.slabBytes;
    this.maxCached = builder.maxCached;
    this.initialBytes = builder.initialBytes;
    this.hugePages = builder.hugePages;
  }

  /**
   * Returns the defaults: a budget of 1 GiB, blocks of 8, 16, 32 and 64 KiB, slabs of 2 MiB on huge
   * pages, 64 blocks cached per class and thread, nothing registered before it is needed.
   */
  public static PoolConfig defaults() {
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
  public static PoolConfig fromProperties(Properties properties) {
    return builder().readFrom(properties).build();
  }

  /** Returns the bytes the pool may register. */
  public long maxBytes() {
    return maxBytes;
  }

  /** Returns a copy of the block sizes, ascending. */
  public int[] blockSizes() {
    return blockSizes.clone();
  }

  /** Returns the bytes of one slab. */
  public int slabBytes() {
    return slabBytes;
  }

  /** Returns the most blocks of one class that one thread keeps for itself. */
  public int maxCached() {
    return maxCached;
  }

  /** Returns the bytes registered when the pool is created. */
  public long initialBytes() {
    return initialBytes;
  }

  /** Returns whether slabs ask for huge pages. */
  public boolean hugePages() {
    return hugePages;
  }

  @Override
  public String toString() {
    return "%s=%d %s=%s %s=%d %s=%d %s=%d %s=%b"
        .formatted(
            MAX_BYTES,
            maxBytes,
            BLOCK_SIZES,
            Arrays.toString(blockSizes),
            SLAB_BYTES,
            slabBytes,
            MAX_CACHED,
            maxCached,
            INITIAL_BYTES,
            initialBytes,
            HUGE_PAGES,
            hugePages);
  }

  /** Collects settings; {@link #build} validates them together. Not safe for several threads. */
  public static final class Builder {
    private long maxBytes = 1L << 30;
    private int[] blockSizes = DEFAULT_BLOCK_SIZES;
    private int slabBytes = 2 << 20;
    private int maxCached = 64;
    private long initialBytes;
    private boolean hugePages = true;

    private Builder() {}

    /** Sets {@link #MAX_BYTES}. */
    public Builder maxBytes(long bytes) {
      this.maxBytes = bytes;
      return this;
    }

    /** Sets {@link #BLOCK_SIZES}: multiples of 64 bytes, ascending, none above the slab. */
    public Builder blockSizes(int... bytes) {
      this.blockSizes = bytes.clone();
      return this;
    }

    /** Sets {@link #SLAB_BYTES}: whole pages; 2 MiB or more for huge pages. */
    public Builder slabBytes(int bytes) {
      this.slabBytes = bytes;
      return this;
    }

    /** Sets {@link #MAX_CACHED}: 0 for no thread caches at all. */
    public Builder maxCached(int blocks) {
      this.maxCached = blocks;
      return this;
    }

    /** Sets {@link #INITIAL_BYTES}: rounded up to whole slabs. */
    public Builder initialBytes(long bytes) {
      this.initialBytes = bytes;
      return this;
    }

    /** Sets {@link #HUGE_PAGES}. */
    public Builder hugePages(boolean wanted) {
      this.hugePages = wanted;
      return this;
    }

    private Builder readFrom(Properties properties) {
      maxBytes = bytes(properties, MAX_BYTES, maxBytes);
      slabBytes = narrow(SLAB_BYTES, bytes(properties, SLAB_BYTES, slabBytes));
      maxCached = narrow(MAX_CACHED, bytes(properties, MAX_CACHED, maxCached));
      initialBytes = bytes(properties, INITIAL_BYTES, initialBytes);
      String sizes = properties.getProperty(BLOCK_SIZES);
      if (sizes != null) {
        blockSizes =
            Arrays.stream(sizes.split(",", -1))
                .mapToInt(size -> narrow(BLOCK_SIZES, parseBytes(BLOCK_SIZES, size)))
                .toArray();
      }
      String huge = properties.getProperty(HUGE_PAGES);
      if (huge != null) {
        hugePages = parseBoolean(huge);
      }
      return this;
    }

    /**
     * Returns the settings.
     *
     * @throws IllegalArgumentException naming the property that is out of range
     */
    public PoolConfig build() {
      checkSlab();
      checkBlockSizes();
      check(
          maxCached >= 0 && maxCached <= MOST_CACHED, MAX_CACHED, maxCached, "0 to " + MOST_CACHED);
      check(maxBytes >= slabBytes, MAX_BYTES, maxBytes, "at least one slab of " + slabBytes);
      // Blocks are numbered by 31-bit integers.
      check(
          maxBytes / blockSizes[0] < 1 << 29,
          MAX_BYTES,
          maxBytes,
          "below 2^29 blocks of the smallest class, " + blockSizes[0] + " bytes");
      check(
          initialBytes >= 0 && initialBytes <= maxBytes / slabBytes * slabBytes,
          INITIAL_BYTES,
          initialBytes,
          "0 to the whole slabs in " + MAX_BYTES + "=" + maxBytes);
      return new PoolConfig(this);
    }

    private void checkSlab() {
      long page = Mapping.pageSizeBytes();
      check(
          slabBytes >= page && slabBytes % page == 0 && slabBytes <= 1 << 30,
          SLAB_BYTES,
          slabBytes,
          "a multiple of the page size, " + page + ", up to 1 GiB");
    }

    private void checkBlockSizes() {
      check(
          blockSizes.length >= 1 && blockSizes.length <= MOST_CLASSES,
          BLOCK_SIZES,
          blockSizes.length + " sizes",
          "1 to " + MOST_CLASSES + " sizes");
      int previous = 0;
      for (int size : blockSizes) {
        check(
            size > 0 && size % BLOCK_ALIGNMENT_BYTES == 0 && size <= slabBytes,
            BLOCK_SIZES,
            size,
            "multiples of %d up to %s=%d".formatted(BLOCK_ALIGNMENT_BYTES, SLAB_BYTES, slabBytes));
        check(size > previous, BLOCK_SIZES, Arrays.toString(blockSizes), "ascending sizes");
        previous = size;
      }
    }

    private static void check(boolean valid, String property, Object value, String range) {
      if (!valid) {
        throw new IllegalArgumentException("%s is %s; valid: %s".formatted(property, value, range));
      }
    }

    private static long bytes(Properties properties, String property, long fallback) {
      String text = properties.getProperty(property);
      return text == null ? fallback : parseBytes(property, text);
    }

    private static long parseBytes(String property, String text) {
      String digits = text.strip().toLowerCase(Locale.ROOT);
      int shift = 0;
      if (!digits.isEmpty()) {
        shift = 10 * (1 + "kmg".indexOf(digits.charAt(digits.length() - 1)));
        digits = shift == 0 ? digits : digits.substring(0, digits.length() - 1);
      }
      try {
        return Math.multiplyExact(Long.parseLong(digits), 1L << shift);
      } catch (NumberFormatException | ArithmeticException e) {
        throw new IllegalArgumentException(
            "%s is '%s'; valid: a whole number, with k, m or g".formatted(property, text), e);
      }
    }

    private static int narrow(String property, long value) {
      check(value >= 0 && value <= Integer.MAX_VALUE, property, value, "0 to 2147483647");
      return (int) value;
    }

    private static boolean parseBoolean(String text) {
      String value = text.strip();
      check(value.equals("true") || value.equals("false"), HUGE_PAGES, value, "true or false");
      return value.equals("true");
    }
  }
}
