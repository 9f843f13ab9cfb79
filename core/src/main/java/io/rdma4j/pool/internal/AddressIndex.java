package io.rdma4j.pool.internal;

import io.rdma4j.pool.RegisteredRange;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Finds the registered memory that contains an address, in O(log n) and without a lock: a sorted
 * table that is replaced whenever memory comes or goes, which a registration outweighs by far.
 */
final class AddressIndex {
  /** Ranges by ascending start, none overlapping; {@code starts} repeats the starts. */
  private record Table(long[] starts, RegisteredRange[] ranges) {
    /** Returns the place of a range that starts there, or {@code -(place to insert) - 1}. */
    int search(long address) {
      return Arrays.binarySearch(starts, address);
    }
  }

  private static final Table EMPTY = new Table(new long[0], new RegisteredRange[0]);

  private volatile Table table = EMPTY;

  /** Returns the range that contains an address, null when none does. */
  @Nullable RegisteredRange find(long address) {
    Table now = table;
    int found = now.search(address);
    int place = found >= 0 ? found : -found - 2;
    if (place < 0) {
      return null;
    }
    RegisteredRange range = now.ranges[place];
    return address - range.address() < range.lengthBytes() ? range : null;
  }

  synchronized void add(RegisteredRange range) {
    Table now = table;
    int place = -now.search(range.address()) - 1;
    if (place < 0) {
      throw new IllegalStateException("0x%x is registered already".formatted(range.address()));
    }
    int length = now.starts.length;
    long[] starts = Arrays.copyOf(now.starts, length + 1);
    RegisteredRange[] ranges = Arrays.copyOf(now.ranges, length + 1);
    System.arraycopy(now.starts, place, starts, place + 1, length - place);
    System.arraycopy(now.ranges, place, ranges, place + 1, length - place);
    starts[place] = range.address();
    ranges[place] = range;
    table = new Table(starts, ranges);
  }

  /** Forgets a range; idempotent. */
  synchronized void remove(RegisteredRange range) {
    Table now = table;
    int place = now.search(range.address());
    if (place < 0 || !now.ranges[place].equals(range)) {
      return;
    }
    int length = now.starts.length;
    long[] starts = Arrays.copyOf(now.starts, length - 1);
    RegisteredRange[] ranges = Arrays.copyOf(now.ranges, length - 1);
    System.arraycopy(now.starts, place + 1, starts, place, length - 1 - place);
    System.arraycopy(now.ranges, place + 1, ranges, place, length - 1 - place);
    table = new Table(starts, ranges);
  }

  synchronized void clear() {
    table = EMPTY;
  }
}
