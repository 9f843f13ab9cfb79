package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.SendResult;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import io.rdma4j.provider.OneSided;
import io.rdma4j.transport.LargeSend.State;
import io.rdma4j.transport.LargeTransferException.Cause;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * The large messages this side of a connection sends. Where the receiver's device can read, it gets
 * keys to stretches of the source, of which a few at a time are known to this side's device; else
 * the pieces are messages.
 *
 * <p>So that small messages get through: transfers take turns piece by piece, a duty cycle sends
 * {@link #PIECES_PER_TURN} at most, and no more than {@link #MESSAGE_LIMIT} pieces of all transfers
 * together lie in the path as messages.
 *
 * <p>{@link #start} by any thread, the rest by the polling thread.
 */
final class LargeSends {
  static final int MAX_TRANSFERS = 256;

  /** Length of a stretch. */
  static final int STRETCH_BYTES = 4 << 20;

  static final int MESSAGE_LIMIT = 8;
  private static final int STRETCHES = 3;
  private static final int PIECES_PER_TURN = 4;
  private static final int SLOT_BITS = 16;
  private static final Logger LOG = System.getLogger(LargeSends.class.getName());

  private final Connection connection;
  private final Endpoint endpoint;
  private final Sender sender;
  private final AtomicReferenceArray<@Nullable LargeSend> slots =
      new AtomicReferenceArray<>(MAX_TRANSFERS);
  private final long[] uses = new long[MAX_TRANSFERS];
  private final AtomicInteger active = new AtomicInteger();
  private final MemorySegment scratch =
      MemorySegment.ofArray(new byte[LargeWire.END_BYTES + LargeWire.MAX_REASON_BYTES]);
  private final int messageLimit;

  /** Pieces that are messages and that receivers have not taken. */
  private int messages;

  private int firstSlot;
  private volatile boolean waitsForRoom;

  LargeSends(Connection connection, Endpoint endpoint, Sender sender, int roomForMessages) {
    this.connection = connection;
    this.endpoint = endpoint;
    this.sender = sender;
    messageLimit = Math.clamp(roomForMessages / 2, 1, MESSAGE_LIMIT);
  }

  // ---- any thread ------------------------------------------------------------------------------

  LargeSend start(MemorySegment source, long tag, long deadlineNs, @Nullable LargeHandler handler) {
    LargeTransfer.requireUsable(source);
    if (source.byteSize() > LargeTransfer.MAX_BYTES) {
      throw new IllegalArgumentException(
          "a large message of %d bytes, allowed are 0 to %d; send several"
              .formatted(source.byteSize(), LargeTransfer.MAX_BYTES));
    }
    LargeSend send = take(source, tag, deadlineNs, handler);
    if (sender.state() != ConnectionState.OPEN && slots.compareAndSet(slot(send), send, null)) {
      active.decrementAndGet();
      throw new LargeTransferException(Cause.DISCONNECTED, "the connection is closing or closed");
    }
    connection.poller().wakeUp();
    return send;
  }

  private LargeSend take(
      MemorySegment source, long tag, long deadlineNs, @Nullable LargeHandler handler) {
    synchronized (uses) {
      for (int slot = 0; slot < MAX_TRANSFERS; slot++) {
        if (slots.get(slot) == null) {
          long id = ++uses[slot] << SLOT_BITS | slot;
          LargeSend send = new LargeSend(connection, id, tag, source, deadlineNs, handler);
          active.incrementAndGet();
          slots.set(slot, send);
          return send;
        }
      }
    }
    throw new LargeTransferException(
        Cause.TOO_MANY,
        "this connection sends %d large messages already; wait for one to end"
            .formatted(MAX_TRANSFERS));
  }

  private static int slot(LargeSend send) {
    return (int) send.id() & (1 << SLOT_BITS) - 1;
  }

  /** Returns whether something waits for room, which no event may announce. */
  boolean keepsSome() {
    return waitsForRoom;
  }

  /** Returns whether there is something with a deadline that has passed. */
  boolean isDue(long nowNs) {
    for (int slot = 0; active.get() > 0 && slot < MAX_TRANSFERS; slot++) {
      LargeSend send = slots.get(slot);
      if (send != null && nowNs - send.deadlineNs >= 0) {
        return true;
      }
    }
    return false;
  }

  // ---- the duty cycle --------------------------------------------------------------------------

  int doWork() {
    if (active.get() == 0) {
      return 0;
    }
    long nowNs = connection.node().clockNs();
    waitsForRoom = false;
    int work = 0;
    for (int slot = 0; slot < MAX_TRANSFERS; slot++) {
      LargeSend send = slots.get(slot);
      if (send != null) {
        work += step(send, nowNs);
      }
    }
    int budget = PIECES_PER_TURN;
    for (int round = 0; round < PIECES_PER_TURN && budget > 0; round++) {
      int before = budget;
      budget -= sendPieces(budget);
      if (budget == before) {
        break;
      }
    }
    return work + PIECES_PER_TURN - budget;
  }

  private int step(LargeSend send, long nowNs) {
    if (send.endCause == null) {
      String reason = send.cancelReason();
      if (reason != null) {
        beginEnd(send, Cause.CANCELLED, reason, nowNs);
      } else if (nowNs - send.deadlineNs >= 0) {
        beginEnd(send, Cause.DEADLINE, "the sender's deadline passed", nowNs);
      }
    }
    int work = 0;
    if (send.state == State.NEW && sendOffer(send)) {
      send.state = State.OFFERED;
      work++;
    }
    if (send.state == State.FLOWING && send.fromDue && sendFrom(send)) {
      send.fromDue = false;
      work++;
    }
    if (send.state == State.ENDING) {
      if (send.endDue && sendEnd(send)) {
        send.endDue = false;
        work++;
      }
      if (nowNs - send.endingSinceNs >= connection.node().config().closeTimeoutNs()) {
        abandon(send);
      }
    }
    return work;
  }

  private void beginEnd(LargeSend send, Cause cause, String reason, long nowNs) {
    send.endCause = cause;
    send.endReason = reason;
    if (send.state == State.NEW) {
      finish(send, cause, reason); // nobody has heard of it
      return;
    }
    send.state = State.ENDING;
    send.endDue = true;
    send.endingSinceNs = nowNs;
  }

  /**
   * Ends what the receiver does not let go of: its device is refused from now on, which ends the
   * path if it still reads. The slot is free when the receiver confirms.
   */
  private void abandon(LargeSend send) {
    close(send, send.endCause, send.endReason + "; the receiver has not confirmed that");
  }

  private int sendPieces(int budget) {
    int sent = 0;
    int start = firstSlot;
    for (int i = 0; i < MAX_TRANSFERS && sent < budget; i++) {
      int slot = (start + i) % MAX_TRANSFERS;
      LargeSend send = slots.get(slot);
      if (send != null && send.state == State.FLOWING && !send.fromDue && sendPiece(send)) {
        firstSlot = (slot + 1) % MAX_TRANSFERS;
        sent++;
      }
    }
    return sent;
  }

  private boolean sendPiece(LargeSend send) {
    if (send.hasAllSent() || send.pieces() == LargeSend.PIECES) {
      return false;
    }
    if (!send.source.scope().isAlive()) {
      beginEnd(
          send, Cause.MEMORY, "the arena of the source is closed", connection.node().clockNs());
      return false;
    }
    OneSided device = send.pathId == 0 ? null : endpoint.oneSided();
    if (device == null || device.pathId() != send.pathId) {
      return sendMessage(send);
    }
    return send.keys() < STRETCHES && sendKey(send);
  }

  private boolean sendMessage(LargeSend send) {
    if (messages >= messageLimit) {
      return false;
    }
    int lengthBytes =
        LargeWire.nextBytes(send.position, send.lengthBytes(), sender.maxMessageBytes());
    if (!sent(
        sender.sendOwn(
            MessageType.LARGE_DATA, send.id(), send.source, send.position, lengthBytes))) {
      return false;
    }
    messages++;
    send.sent(lengthBytes, null);
    return true;
  }

  private boolean sendKey(LargeSend send) {
    if (!sender.hasRoom()) {
      waitsForRoom = true;
      return false;
    }
    int lengthBytes = LargeWire.nextBytes(send.position, send.lengthBytes(), STRETCH_BYTES);
    long address = send.source.address() + send.position;
    Registration registration = register(address, lengthBytes);
    if (registration == null) {
      send.pathId = 0;
      return sendMessage(send);
    }
    LargeWire.putLong(scratch, 0, send.pathId);
    LargeWire.putLong(scratch, 8, address);
    LargeWire.putLong(scratch, 16, lengthBytes);
    LargeWire.putInt(scratch, 24, registration.rkey());
    if (!send(send, MessageType.LARGE_KEY, LargeWire.KEY_BYTES)) {
      registration.revoke();
      return false;
    }
    send.sent(lengthBytes, registration);
    return true;
  }

  private @Nullable Registration register(long address, int lengthBytes) {
    MemoryRegistrar registrar = endpoint.registrar();
    if (registrar == null) {
      return null;
    }
    try {
      return registrar.register(address, lengthBytes, MemoryAccess.REMOTE_READ);
    } catch (Rdma4jException e) {
      LOG.log(
          Level.WARNING,
          () -> "a large message goes on by messages, since its memory is refused: " + e);
      return null;
    }
  }

  private boolean sendOffer(LargeSend send) {
    LargeWire.putLong(scratch, 0, send.lengthBytes());
    LargeWire.putLong(scratch, 8, send.tag());
    return send(send, MessageType.LARGE_OFFER, LargeWire.OFFER_BYTES);
  }

  private boolean sendFrom(LargeSend send) {
    LargeWire.putLong(scratch, 0, send.position);
    return send(send, MessageType.LARGE_FROM, LargeWire.POSITION_BYTES);
  }

  private boolean sendEnd(LargeSend send) {
    int lengthBytes = LargeWire.writeEnd(scratch, LargeWire.CANCELLED, send.endReason);
    return send(send, MessageType.LARGE_CANCEL, Math.min(lengthBytes, sender.maxMessageBytes()));
  }

  private boolean send(LargeSend send, int type, int lengthBytes) {
    return sent(sender.sendOwn(type, send.id(), scratch, 0, lengthBytes));
  }

  private boolean sent(long result) {
    waitsForRoom |= result == SendResult.BACK_PRESSURED;
    return result >= 0;
  }

  // ---- what the receiver says ------------------------------------------------------------------

  private @Nullable LargeSend find(long id) {
    int slot = (int) id & (1 << SLOT_BITS) - 1;
    LargeSend send = slot < MAX_TRANSFERS ? slots.get(slot) : null;
    return send != null && send.id() == id ? send : null;
  }

  void accepted(long id, long pathId) {
    LargeSend send = find(id);
    if (send != null && send.state == State.OFFERED) {
      send.pathId = pathId;
      send.state = State.FLOWING;
    }
  }

  /** Returns false when the receiver can not have taken that much. */
  boolean taken(long id, long position) {
    LargeSend send = find(id);
    if (send == null || send.state == State.ENDED) {
      return true;
    }
    if (position < send.transferredBytes() || position > send.position) {
      return false;
    }
    messages -= send.taken(position);
    send.transferred(position);
    return true;
  }

  /** Goes back to what the receiver has; false when it can not have that much. */
  boolean again(long id, long position, long pathId) {
    LargeSend send = find(id);
    if (send == null || send.state == State.ENDED) {
      return true;
    }
    if (!taken(id, position)) {
      return false;
    }
    messages -= send.dropPieces();
    send.position = position;
    send.pathId = pathId;
    send.fromDue = true;
    return true;
  }

  void ended(long id, int status, String reason) {
    LargeSend send = find(id);
    if (send == null || send.state == State.NEW) {
      return;
    }
    if (send.state == State.ENDED) {
      slots.set(slot(send), null);
      return;
    }
    if (status == LargeWire.DONE) {
      send.transferred(send.lengthBytes());
      finish(send, null, "");
    } else if (send.endCause != null) {
      finish(send, send.endCause, send.endReason);
    } else {
      boolean refused = status == LargeWire.REFUSED;
      finish(send, refused ? Cause.REFUSED : Cause.PEER_CANCELLED, "the receiver: " + reason);
    }
  }

  private void finish(LargeSend send, @Nullable Cause cause, String text) {
    if (slots.compareAndSet(slot(send), send, null)) {
      close(send, cause, text);
    }
  }

  private void close(LargeSend send, @Nullable Cause cause, String text) {
    send.state = State.ENDED;
    active.decrementAndGet();
    try {
      messages -= send.dropPieces();
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "a device did not give back the memory of " + send, e);
    }
    send.finish(cause, text);
  }

  /** Ends all: the connection has ended. */
  void end(String reason) {
    for (int slot = 0; slot < MAX_TRANSFERS; slot++) {
      LargeSend send = slots.get(slot);
      if (send != null && send.state != State.ENDED) {
        finish(send, Cause.DISCONNECTED, "the connection ended before the message: " + reason);
      }
    }
  }
}
