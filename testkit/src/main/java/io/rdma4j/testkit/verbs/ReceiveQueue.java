package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.ReceiveList;
import org.jspecify.annotations.Nullable;

/**
 * A ring of posted receives. A place is free again when the completion that used it has been
 * polled, as on real devices. Guarded by the wire.
 */
final class ReceiveQueue {
  /** One posted receive. */
  static final class Entry {
    long wrId;
    int sgeCount;
    final long[] addresses;
    final int[] lengths;
    final int[] keys;

    Entry(int maxSge) {
      addresses = new long[maxSge];
      lengths = new int[maxSge];
      keys = new int[maxSge];
    }
  }

  private final Wire wire;
  private final Entry[] ring;
  private final int maxSge;
  private long posted;
  private long taken;
  private long retired;

  ReceiveQueue(Wire wire, int depth, int maxSge) {
    this.wire = wire;
    this.maxSge = maxSge;
    ring = new Entry[depth];
    for (int i = 0; i < depth; i++) {
      ring[i] = new Entry(maxSge);
    }
  }

  int post(String call, ReceiveList list) {
    int scripted = wire.faults.errnoOf(call);
    int scriptedAt = scripted == 0 ? list.size() : wire.faults.acceptedOf(call);
    for (int i = 0; i < list.size(); i++) {
      int errno = i >= scriptedAt ? scripted : errnoOf(list, i);
      if (errno != 0) {
        wire.ledger.receivesTaken(i);
        return list.posted(errno, list.address() + i * 32L);
      }
      add(list, i);
    }
    wire.ledger.receivesTaken(list.size());
    return list.posted(0, 0);
  }

  private int errnoOf(ReceiveList list, int i) {
    if (list.sgeCount(i) > maxSge) {
      return Errno.EINVAL;
    }
    return posted - retired == ring.length ? Errno.ENOMEM : 0;
  }

  private void add(ReceiveList list, int i) {
    Entry entry = ring[(int) (posted++ % ring.length)];
    entry.wrId = list.wrId(i);
    entry.sgeCount = list.sgeCount(i);
    for (int j = 0; j < entry.sgeCount; j++) {
      entry.addresses[j] = list.sgeAddress(i, j);
      entry.lengths[j] = list.sgeLengthBytes(i, j);
      entry.keys[j] = list.sgeLkey(i, j);
    }
  }

  /** Returns the receives that no message has taken. */
  int posted() {
    return (int) (posted - taken);
  }

  /** Returns the oldest posted receive without taking it, null when there is none. */
  @Nullable Entry peek() {
    return taken == posted ? null : ring[(int) (taken % ring.length)];
  }

  void take() {
    taken++;
  }

  void retire() {
    retired++;
  }
}
