package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.SendList;
import org.jspecify.annotations.Nullable;

/**
 * A ring of posted sends. Places are free again when a completion of a later or the same request
 * has been polled, as on real devices. Guarded by the wire.
 */
final class SendQueue {
  /** One posted send. */
  static final class Entry {
    long sequence;
    long wrId;
    int opcode;
    int flags;
    int immediate;
    long remoteAddress;
    int rkey;
    long compareOrAdd;
    long swap;
    int sgeCount;
    int lengthBytes;
    long[] addresses;
    int[] lengths;
    int[] keys;

    /** Data copied at the post, when the request is inline. */
    byte[] inline;

    Entry(int maxSge, int maxInlineBytes) {
      addresses = new long[maxSge];
      lengths = new int[maxSge];
      keys = new int[maxSge];
      inline = new byte[maxInlineBytes];
    }

    boolean isInline() {
      return (flags & SendList.INLINE) != 0;
    }

    boolean isSignaled() {
      return (flags & SendList.SIGNALED) != 0;
    }

    /** Makes each the carrier of the other's message; the requests themselves stay. */
    void swapMessage(Entry other) {
      Entry mine = new Entry(addresses.length, 0);
      mine.copyMessage(this);
      copyMessage(other);
      other.copyMessage(mine);
    }

    private void copyMessage(Entry from) {
      opcode = from.opcode;
      flags = (flags & SendList.SIGNALED) | (from.flags & ~SendList.SIGNALED);
      immediate = from.immediate;
      remoteAddress = from.remoteAddress;
      rkey = from.rkey;
      compareOrAdd = from.compareOrAdd;
      swap = from.swap;
      sgeCount = from.sgeCount;
      lengthBytes = from.lengthBytes;
      addresses = from.addresses;
      lengths = from.lengths;
      keys = from.keys;
      inline = from.inline;
    }
  }

  private static final long WR_BYTES = 128;

  private final Wire wire;
  private final Entry[] ring;
  private final int maxSge;
  private final int maxInlineBytes;
  private long posted;
  private long executed;
  private long retired;

  SendQueue(Wire wire, int depth, int maxSge, int maxInlineBytes) {
    this.wire = wire;
    this.maxSge = maxSge;
    this.maxInlineBytes = maxInlineBytes;
    ring = new Entry[depth];
    for (int i = 0; i < depth; i++) {
      ring[i] = new Entry(maxSge, maxInlineBytes);
    }
  }

  int post(SendList list) {
    int scripted = wire.faults.errnoOf("ibv_post_send");
    int scriptedAt = scripted == 0 ? list.size() : wire.faults.acceptedOf("ibv_post_send");
    for (int i = 0; i < list.size(); i++) {
      int errno = i >= scriptedAt ? scripted : errnoOf(list, i);
      if (errno != 0) {
        wire.ledger.sendsTaken(i);
        return list.posted(errno, list.address() + i * WR_BYTES);
      }
      add(list, i);
    }
    wire.ledger.sendsTaken(list.size());
    return list.posted(0, 0);
  }

  private int errnoOf(SendList list, int i) {
    int lengthBytes = 0;
    for (int j = 0; j < list.sgeCount(i); j++) {
      lengthBytes += list.sgeLengthBytes(i, j);
    }
    if (list.sgeCount(i) > maxSge
        || ((list.flags(i) & SendList.INLINE) != 0 && lengthBytes > maxInlineBytes)) {
      return Errno.EINVAL;
    }
    return posted - retired == ring.length ? Errno.ENOMEM : 0;
  }

  private void add(SendList list, int i) {
    Entry entry = ring[(int) (posted++ % ring.length)];
    entry.sequence = posted;
    entry.wrId = list.wrId(i);
    entry.opcode = list.opcode(i);
    entry.flags = list.flags(i);
    entry.immediate = list.immediate(i);
    entry.remoteAddress = list.remoteAddress(i);
    boolean atomic = entry.opcode >= SendList.OP_COMPARE_AND_SWAP;
    long request = list.address() + i * WR_BYTES;
    entry.compareOrAdd = NativeMemory.getLong(request + 48);
    entry.swap = NativeMemory.getLong(request + 56);
    entry.rkey = atomic ? (int) NativeMemory.getLong(request + 64) : list.rkey(i);
    entry.sgeCount = list.sgeCount(i);
    entry.lengthBytes = 0;
    for (int j = 0; j < entry.sgeCount; j++) {
      entry.addresses[j] = list.sgeAddress(i, j);
      entry.lengths[j] = list.sgeLengthBytes(i, j);
      entry.keys[j] = list.sgeLkey(i, j);
      if (entry.isInline()) {
        NativeMemory.copy(entry.addresses[j], entry.inline, entry.lengthBytes, entry.lengths[j]);
      }
      entry.lengthBytes += entry.lengths[j];
    }
    wire.ledger.sendKind(entry.isInline(), entry.isSignaled());
    wire.ledger.sendOpcode(entry.opcode);
  }

  /** Returns the reads and atomics posted and not yet executed. */
  int readsUnderWay() {
    int reads = 0;
    for (long i = executed; i < posted; i++) {
      reads += ring[(int) (i % ring.length)].opcode >= SendList.OP_RDMA_READ ? 1 : 0;
    }
    return reads;
  }

  /** Returns the oldest request not yet executed, null when there is none. */
  @Nullable Entry peek() {
    return executed == posted ? null : ring[(int) (executed % ring.length)];
  }

  /** Returns the request after {@link #peek()}, null when there is none. */
  @Nullable Entry peekSecond() {
    return posted - executed < 2 ? null : ring[(int) ((executed + 1) % ring.length)];
  }

  void take() {
    executed++;
  }

  void retire(long sequence) {
    retired = Math.max(retired, sequence);
  }
}
