package io.rdma4j.pool.internal;

/** Maps a length to the smallest class whose blocks hold it, by one table look-up. Immutable. */
public final class SizeClasses {
  /** Bounds the table; reached only by classes more than 65536 steps apart. */
  private static final int MOST_STEPS = 1 << 16;

  private final int[] blockBytes;
  private final int maxBlockBytes;
  private final int stepShift;
  private final byte[] classOfStep;

  /**
   * Builds the table.
   *
   * @param blockBytes block sizes, ascending, at most 127 of them
   * @throws IllegalArgumentException when the sizes need too large a table
   */
  public SizeClasses(int[] blockBytes) {
    this.blockBytes = blockBytes.clone();
    this.maxBlockBytes = blockBytes[blockBytes.length - 1];
    int allBits = 0;
    for (int bytes : blockBytes) {
      allBits |= bytes;
    }
    // The largest power of two that divides every size: no class ends inside a step.
    this.stepShift = Integer.numberOfTrailingZeros(allBits);
    int steps = maxBlockBytes >>> stepShift;
    if (steps > MOST_STEPS) {
      throw new IllegalArgumentException(
          "block sizes up to %d in steps of %d need a table of %d entries, more than %d; round them"
                  .formatted(maxBlockBytes, 1 << stepShift, steps, MOST_STEPS)
              + " to larger powers of two");
    }
    this.classOfStep = new byte[steps + 1];
    byte sizeClass = 0;
    for (int step = 0; step <= steps; step++) {
      if (step << stepShift > blockBytes[sizeClass]) {
        sizeClass++;
      }
      classOfStep[step] = sizeClass;
    }
  }

  /** Returns the number of classes. */
  public int count() {
    return blockBytes.length;
  }

  /** Returns the size of a class's blocks. */
  public int blockBytes(int sizeClass) {
    return blockBytes[sizeClass];
  }

  /** Returns the largest length that fits a block. */
  public int maxBlockBytes() {
    return maxBlockBytes;
  }

  /**
   * Returns the class for a length.
   *
   * @param lengthBytes 0 to {@link #maxBlockBytes}
   * @throws IllegalArgumentException naming the limit
   */
  public int classOf(int lengthBytes) {
    if (lengthBytes < 0 || lengthBytes > maxBlockBytes) {
      throw outOfRange(lengthBytes);
    }
    return classOfStep[(lengthBytes + (1 << stepShift) - 1) >>> stepShift];
  }

  private IllegalArgumentException outOfRange(int lengthBytes) {
    return new IllegalArgumentException(
        "length must be 0 to %d bytes, the pool's largest block, was %d; larger blocks are added by"
                .formatted(maxBlockBytes, lengthBytes)
            + " rdma4j.pool.blockSizes, and allocateLarge lends memory of any length");
  }
}
