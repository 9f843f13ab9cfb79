package io.rdma4j.transport;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The answers in parts that this side of a connection is giving, by the requester's slot.
 *
 * <p>Safe for use by several threads. An answer costs an object, its parts do not.
 */
final class ReplyStreams {
  private static final int FIRST_CAPACITY = 16;

  private final Node node;
  private final Sender sender;
  private final Room room;

  /** By slot; guarded by this. */
  private @Nullable ReplyStream[] bySlot = new ReplyStream[FIRST_CAPACITY];

  ReplyStreams(Node node, Sender sender, Room room) {
    this.node = node;
    this.sender = sender;
    this.room = room;
  }

  /** Starts an answer. Polling thread. */
  ReplyStream open(long correlationId) {
    ReplyStream stream = new ReplyStream(this, sender, room, correlationId);
    ReplyStream before = put(RequestTable.slot(correlationId), stream);
    if (before != null) {
      if (before.correlationId() == correlationId) {
        put(RequestTable.slot(correlationId), before);
        throw new IllegalStateException("this request is being answered in parts already");
      }
      // The requester has given that one up, since it uses the slot again.
      before.cancel();
    }
    return stream;
  }

  private synchronized @Nullable ReplyStream put(int slot, ReplyStream stream) {
    if (slot >= bySlot.length) {
      bySlot = Arrays.copyOf(bySlot, Integer.highestOneBit(slot) << 1);
    }
    ReplyStream before = bySlot[slot];
    bySlot[slot] = stream;
    return before;
  }

  private synchronized @Nullable ReplyStream find(long correlationId) {
    int slot = RequestTable.slot(correlationId);
    ReplyStream stream = slot < bySlot.length ? bySlot[slot] : null;
    return stream != null && stream.correlationId() == correlationId ? stream : null;
  }

  synchronized void remove(ReplyStream stream) {
    int slot = RequestTable.slot(stream.correlationId());
    if (bySlot[slot] == stream) {
      bySlot[slot] = null;
    }
  }

  /** Allows more parts of an answer, if it has not ended. Polling thread. */
  void grant(long correlationId, int parts) {
    ReplyStream stream = find(correlationId);
    if (stream != null) {
      stream.grant(parts);
    }
  }

  /** Ends an answer that nobody waits for. Polling thread. */
  void cancel(long correlationId) {
    ReplyStream stream = find(correlationId);
    if (stream != null) {
      remove(stream);
      stream.cancel();
    }
  }

  /** Ends all: the connection has ended. Polling thread. */
  void cancelAll() {
    @Nullable ReplyStream[] all;
    synchronized (this) {
      all = bySlot;
      bySlot = new ReplyStream[all.length];
    }
    for (ReplyStream stream : all) {
      if (stream != null) {
        stream.cancel();
      }
    }
  }

  long clockNs() {
    return node.clockNs();
  }
}
