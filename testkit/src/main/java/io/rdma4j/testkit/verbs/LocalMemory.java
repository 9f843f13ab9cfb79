package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.Completions;

/** The memory that requests of a queue pair name by their local keys. Guarded by the wire. */
final class LocalMemory {
  private static final int LOCAL_LENGTH_ERROR = 1;
  private static final int LOCAL_PROTECTION_ERROR = 4;

  private final ScriptedProtectionDomain domain;

  LocalMemory(ScriptedProtectionDomain domain) {
    this.domain = domain;
  }

  boolean keysGrant(SendQueue.Entry entry, int accessBit) {
    for (int j = 0; j < entry.sgeCount && !entry.isInline(); j++) {
      if (at(entry.keys[j], entry.addresses[j], entry.lengths[j], accessBit) < 0) {
        return false;
      }
    }
    return true;
  }

  long at(int key, long address, int lengthBytes, int accessBit) {
    return domain.device.regions.translate(domain, key, address, lengthBytes, accessBit);
  }

  /** Copies a message from the sender's pieces into this side's receive pieces. */
  int scatter(SendQueue.Entry from, LocalMemory sender, ReceiveQueue.Entry into) {
    long room = 0;
    for (int j = 0; j < into.sgeCount; j++) {
      room += into.lengths[j];
      if (at(into.keys[j], into.addresses[j], into.lengths[j], Access.LOCAL_WRITE) < 0) {
        return LOCAL_PROTECTION_ERROR;
      }
    }
    if (from.lengthBytes > room) {
      return LOCAL_LENGTH_ERROR;
    }
    int done = 0;
    int piece = 0;
    int inPiece = 0;
    while (done < from.lengthBytes) {
      int count = Math.min(into.lengths[piece] - inPiece, from.lengthBytes - done);
      long target =
          at(into.keys[piece], into.addresses[piece], into.lengths[piece], Access.LOCAL_WRITE);
      sender.gather(from, done, target + inPiece, count);
      done += count;
      inPiece += count;
      if (inPiece == into.lengths[piece]) {
        piece++;
        inPiece = 0;
      }
    }
    return Completions.SUCCESS;
  }

  /** Copies {@code count} bytes from position {@code at} of the message to an address. */
  void gather(SendQueue.Entry from, int at, long target, int count) {
    if (from.isInline()) {
      NativeMemory.copy(from.inline, at, target, count);
      return;
    }
    int start = 0;
    long to = target;
    int left = count;
    for (int j = 0; j < from.sgeCount && left > 0; j++) {
      int skip = Math.max(0, at - start);
      start += from.lengths[j];
      if (skip < from.lengths[j]) {
        int piece = Math.min(left, from.lengths[j] - skip);
        long source = at(from.keys[j], from.addresses[j], from.lengths[j], 0);
        NativeMemory.copy(source + skip, to, piece);
        to += piece;
        left -= piece;
      }
    }
  }
}
