package io.rdma4j.transport;

import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.OneSided;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What lets this side's device reach a region of the peer, until the peer takes it back. In the
 * message that brings it, 40 bytes, little endian:
 *
 * <pre>
 *   0  path id    8   of the path whose device knows the key
 *   8  address    8   of the region in the peer's process
 *  16  length     8   bytes
 *  24  rkey       4
 *  28  access     4   what the device may do, bits of MemoryAccess; 0 when it may do nothing
 *  32  reserved   8   0
 * </pre>
 *
 * <p>Operations under way are counted, so that the peer hears when there are none any more. Safe
 * for use by several threads.
 */
final class RemoteKey {
  static final int BYTES = 40;

  /** How long an operation may wait for those by messages, before it joins them. */
  private static final long MAX_WAIT_NS = 10_000_000L;

  private static final ValueLayout.OfInt INT =
      ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
  private static final ValueLayout.OfLong LONG =
      ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

  /** Set in {@link #users} when the peer wants the region back. */
  private static final int REVOKED = 1 << 30;

  private final long regionId;
  private final long pathId;
  private final long address;
  private final long lengthBytes;
  private final int rkey;
  private final int access;
  private final AtomicInteger users = new AtomicInteger();

  /** Guarded by the lock of those who start. */
  private boolean used;

  private long waitsSinceNs;

  private RemoteKey(
      long regionId, long pathId, long address, long lengthBytes, int rkey, int access) {
    this.regionId = regionId;
    this.pathId = pathId;
    this.address = address;
    this.lengthBytes = lengthBytes;
    this.rkey = rkey;
    this.access = access;
  }

  static void write(
      MemorySegment to, long pathId, long address, long lengthBytes, int rkey, int access) {
    to.set(LONG, 0, pathId);
    to.set(LONG, 8, address);
    to.set(LONG, 16, lengthBytes);
    to.set(INT, 24, rkey);
    to.set(INT, 28, access);
    to.set(LONG, 32, 0L);
  }

  static RemoteKey read(long regionId, MemorySegment from, long at) {
    return new RemoteKey(
        regionId,
        from.get(LONG, at),
        from.get(LONG, at + 8),
        from.get(LONG, at + 16),
        from.get(INT, at + 24),
        from.get(INT, at + 28));
  }

  long regionId() {
    return regionId;
  }

  long pathId() {
    return pathId;
  }

  int rkey() {
    return rkey;
  }

  long addressOf(long regionOffset) {
    return address + regionOffset;
  }

  /** Returns whether the device would carry it out; what it would not is asked by message. */
  boolean serves(int opcode, long regionOffset, int bytes) {
    boolean atomic = opcode == OneSided.FETCH_ADD || opcode == OneSided.COMPARE_AND_SWAP;
    int right =
        atomic
            ? MemoryAccess.REMOTE_ATOMIC
            : opcode == OneSided.READ ? MemoryAccess.REMOTE_READ : MemoryAccess.REMOTE_WRITE;
    return MemoryAccess.includes(access, right)
        && bytes > 0
        && regionOffset >= 0
        && regionOffset <= lengthBytes - bytes
        && (!atomic || (addressOf(regionOffset) & Long.BYTES - 1) == 0);
  }

  /**
   * Returns whether an operation shall wait until those by messages have ended, which it must not
   * overtake: the first ones do, so that a steady stream comes over to the device.
   */
  boolean waitsForMessages(long nowNs) {
    if (used) {
      return false;
    }
    if (waitsSinceNs == 0) {
      waitsSinceNs = nowNs == 0 ? 1 : nowNs;
    }
    used = nowNs - waitsSinceNs > MAX_WAIT_NS;
    return !used;
  }

  /** Begins an operation; false when the peer wants the region back. */
  boolean enter() {
    while (true) {
      int now = users.get();
      if ((now & REVOKED) != 0) {
        return false;
      }
      if (users.compareAndSet(now, now + 1)) {
        used = true;
        return true;
      }
    }
  }

  /** Ends an operation; true when it was the last one of a region that the peer wants back. */
  boolean leave() {
    return users.decrementAndGet() == REVOKED;
  }

  /** Lets no operation begin any more; true when none is under way. */
  boolean revoke() {
    return users.getAndUpdate(now -> now | REVOKED) == 0;
  }
}
