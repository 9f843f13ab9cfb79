package io.rdma4j.transport;

import io.rdma4j.provider.MemoryAccess;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;

/**
 * What a peer needs to know of an exported region. It travels in a message of the application, in
 * 32 bytes, little endian:
 *
 * <pre>
 *   0  layout version   4   1
 *   4  access           4   bits of MemoryAccess
 *   8  region id        8
 *  16  length           8   bytes
 *  24  reserved         8   0
 * </pre>
 *
 * @param id of the region within the node that exports it
 * @param lengthBytes its length
 * @param access what peers may do, bits of {@link MemoryAccess}
 */
public record RegionDescriptor(long id, long lengthBytes, int access) {
  /** Bytes of a descriptor in a message. */
  public static final int BYTES = 32;

  private static final int VERSION = 1;
  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** Validates. */
  public RegionDescriptor {
    if (lengthBytes < 1 || !MemoryAccess.isValid(access) || !MemoryAccess.isRemote(access)) {
      throw new IllegalArgumentException(
          "no region has %d bytes with access 0x%x".formatted(lengthBytes, access));
    }
  }

  /** Writes the descriptor's {@link #BYTES}. */
  public void write(MemorySegment to, long offset) {
    to.set(INT, offset, VERSION);
    to.set(INT, offset + 4, access);
    to.set(LONG, offset + 8, id);
    to.set(LONG, offset + 16, lengthBytes);
    to.set(LONG, offset + 24, 0L);
  }

  /**
   * Reads a descriptor.
   *
   * @throws IllegalArgumentException when there is none, or one of another version
   */
  public static RegionDescriptor read(MemorySegment from, long offset) {
    int version = from.get(INT, offset);
    if (version != VERSION) {
      throw new IllegalArgumentException(
          "a region descriptor of version " + version + ", known is " + VERSION);
    }
    return new RegionDescriptor(
        from.get(LONG, offset + 8), from.get(LONG, offset + 16), from.get(INT, offset + 4));
  }
}
