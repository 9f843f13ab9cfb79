package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.SendResult;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.pool.RegisteredRange;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.OneSided;
import io.rdma4j.transport.LargeTransferException.Cause;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The large messages this side of a connection receives. It copies what comes by message, and lets
 * the device read what the sender has given keys to, a fragment of each transfer in turn and {@link
 * #MAX_READS} under way in all.
 *
 * <p>When keys are of no use any more, because their path has ended, it asks the sender to go on
 * from what has arrived.
 *
 * <p>Polling thread only.
 */
final class LargeReceives {
  /** Reads under way; further ones would hold up those of the application. */
  static final int MAX_READS = 4;

  /** Bit of the tokens that tells these reads from other operations of the device. */
  static final long TOKEN = 1L << 32;

  /** Most that one read asks for. */
  static final int FRAGMENT_BYTES = 1 << 20;

  private static final int SLOT_MASK = 0xffff;
  private static final Logger LOG = System.getLogger(LargeReceives.class.getName());

  private final Connection connection;
  private final Endpoint endpoint;
  private final Sender sender;
  private final RegisteredBufferPool pool;
  private final @Nullable LargeReceive[] slots = new LargeReceive[LargeSends.MAX_TRANSFERS];
  private final MemorySegment scratch =
      MemorySegment.ofArray(new byte[LargeWire.END_BYTES + LargeWire.MAX_REASON_BYTES]);
  private final int[] endedSlots = new int[MAX_READS];
  private final int[] endedOutcomes = new int[MAX_READS];
  private int endedCount;
  private int active;
  private int reads;
  private int firstSlot;
  private volatile boolean waitsForRoom;

  LargeReceives(Connection connection, Endpoint endpoint, Sender sender) {
    this.connection = connection;
    this.endpoint = endpoint;
    this.sender = sender;
    pool = connection.node().pool();
  }

  boolean keepsSome() {
    return waitsForRoom;
  }

  // ---- what the sender says --------------------------------------------------------------------

  private @Nullable LargeReceive find(long id) {
    int slot = (int) id & SLOT_MASK;
    LargeReceive receive = slot < slots.length ? slots[slot] : null;
    return receive != null && receive.id() == id ? receive : null;
  }

  /** Returns the transfer that pieces count for, null when nobody wants them any more. */
  private @Nullable LargeReceive findWanting(long id) {
    LargeReceive receive = find(id);
    return receive != null && receive.accepted && !receive.awaitsFrom && receive.endCause == null
        ? receive
        : null;
  }

  /** Returns the offer for the application, null when the sender can not have made it. */
  @Nullable LargeReceive offered(long id, long lengthBytes, long tag) {
    int slot = (int) id & SLOT_MASK;
    if (lengthBytes < 0
        || lengthBytes > LargeTransfer.MAX_BYTES
        || slot >= slots.length
        || slots[slot] != null) {
      return null;
    }
    LargeReceive receive = new LargeReceive(connection, id, tag, lengthBytes);
    slots[slot] = receive;
    active++;
    return receive;
  }

  /** Copies a piece; false when the sender may not have sent it. */
  boolean data(long id, MemorySegment memory, long at, int lengthBytes) {
    LargeReceive receive = findWanting(id);
    if (receive == null) {
      return true;
    }
    if (!fits(receive, lengthBytes)) {
      return false;
    }
    try {
      MemorySegment.copy(memory, at, receive.target(), receive.arrived, lengthBytes);
    } catch (IllegalStateException | WrongThreadException e) {
      stop(receive, Cause.MEMORY, "the target can not be written any more: " + e.getMessage());
      return true;
    }
    receive.addPiece(lengthBytes, false);
    advance(receive);
    return true;
  }

  /** Notes where the device can read a piece; false when the sender may not have sent it. */
  boolean key(long id, MemorySegment memory, long at) {
    LargeReceive receive = findWanting(id);
    if (receive == null) {
      return true;
    }
    long lengthBytes = LargeWire.getLong(memory, at + 16);
    if (lengthBytes > LargeSends.STRETCH_BYTES || !fits(receive, lengthBytes)) {
      return false;
    }
    LargeReceive.Piece piece = receive.addPiece(lengthBytes, true);
    piece.pathId = LargeWire.getLong(memory, at);
    piece.address = LargeWire.getLong(memory, at + 8);
    piece.rkey = LargeWire.getInt(memory, at + 24);
    return true;
  }

  private static boolean fits(LargeReceive receive, long lengthBytes) {
    return lengthBytes >= 1
        && lengthBytes <= receive.lengthBytes() - receive.arrived
        && receive.pieces() < LargeSend.PIECES;
  }

  /** Goes on where both know that it stopped. */
  boolean from(long id, long position) {
    LargeReceive receive = find(id);
    if (receive == null || !receive.awaitsFrom || receive.endCause != null) {
      return true;
    }
    receive.awaitsFrom = false;
    return position == receive.taken;
  }

  /** The sender wants the end. */
  void ended(long id, String reason) {
    LargeReceive receive = find(id);
    if (receive != null) {
      stop(receive, Cause.PEER_CANCELLED, "the sender: " + reason);
    }
  }

  /** Notes the end of a read; see {@link DeviceOperations#ended}. */
  void readEnded(long token, int outcome) {
    endedSlots[endedCount] = (int) token & SLOT_MASK;
    endedOutcomes[endedCount++] = outcome;
  }

  // ---- the duty cycle --------------------------------------------------------------------------

  int doWork() {
    if (active == 0) {
      return 0;
    }
    waitsForRoom = false;
    int work = settle();
    for (LargeReceive receive : slots) {
      if (receive != null) {
        decide(receive);
      }
    }
    int started;
    do {
      started = 0;
      int start = firstSlot;
      for (int i = 0; i < slots.length && reads < MAX_READS; i++) {
        int slot = (start + i) % slots.length;
        LargeReceive receive = slots[slot];
        if (receive != null && startReads(receive)) {
          firstSlot = (slot + 1) % slots.length;
          started++;
        }
      }
      work += started;
    } while (started > 0);
    for (LargeReceive receive : slots) {
      work += receive == null ? 0 : speak(receive);
    }
    return work;
  }

  private int settle() {
    int count = endedCount;
    endedCount = 0;
    for (int i = 0; i < count; i++) {
      LargeReceive receive = Objects.requireNonNull(slots[endedSlots[i]]);
      int lengthBytes = receive.readEnded();
      reads--;
      if (endedOutcomes[i] != OneSided.DONE) {
        receive.readFailed = true;
        receive.stopped = true;
      } else if (!receive.readFailed) {
        receive.taken += lengthBytes;
        advance(receive);
      }
    }
    return count;
  }

  private static void advance(LargeReceive receive) {
    receive.advance();
    receive.transferred(receive.taken);
  }

  /** Takes up what the application has said, and what follows from what came back. */
  private void decide(LargeReceive receive) {
    if (receive.endCause == null && !receive.ended) {
      String reason = receive.cancelReason();
      if (reason != null) {
        stop(receive, Cause.CANCELLED, reason);
      } else if (receive.wasRefused()) {
        stop(receive, Cause.REFUSED, receive.refusal());
      } else if (!receive.accepted && receive.wasAccepted()) {
        receive.accepted = true;
        receive.acceptDue = true;
      }
    }
    if (receive.ended) {
      return;
    }
    if (receive.endCause == null && receive.accepted && receive.taken == receive.lengthBytes()) {
      finish(receive, null, LargeWire.DONE, "");
    } else if (receive.stopped && receive.reads() == 0) {
      receive.dropPieces();
      Cause cause = receive.endCause;
      if (cause != null) {
        int status = cause == Cause.REFUSED ? LargeWire.REFUSED : LargeWire.CANCELLED;
        finish(receive, cause, status, receive.endReason);
      } else {
        receive.stopped = false;
        receive.readFailed = false;
        receive.againDue = true;
        receive.awaitsFrom = true;
      }
    }
  }

  /**
   * Starts nothing more for a transfer; it ends when nothing is under way. The first cause counts.
   */
  private static void stop(LargeReceive receive, Cause cause, String reason) {
    receive.stopped = true;
    if (receive.endCause == null) {
      receive.endCause = cause;
      receive.endReason = reason;
    }
  }

  /** Ends it here; the slot stays taken until the sender is told. */
  private static void finish(
      LargeReceive receive, @Nullable Cause cause, int status, String reason) {
    receive.ended = true;
    receive.endDue = true;
    receive.endStatus = status;
    receive.endReason = reason;
    receive.finish(cause, reason);
  }

  private boolean startReads(LargeReceive receive) {
    if (reads == MAX_READS || receive.stopped || receive.ended || receive.awaitsFrom) {
      return false;
    }
    LargeReceive.Piece piece = receive.pieceToRead();
    OneSided device = piece == null ? null : endpoint.oneSided();
    if (piece == null) {
      return false;
    }
    if (device == null || device.pathId() != piece.pathId) {
      receive.stopped = true; // the key is of a path that is gone
      return true;
    }
    long address = receive.target().address() + receive.posted;
    long pieceEnd = piece.startPosition + piece.lengthBytes;
    int most = Math.min(FRAGMENT_BYTES, device.maxTransferBytes());
    int lengthBytes = LargeWire.nextBytes(receive.posted, pieceEnd, most);
    RegisteredRange range = pool.findAddress(address);
    if (range != null) {
      lengthBytes = (int) Math.min(lengthBytes, range.address() + range.lengthBytes() - address);
    } else if (piece.local == null && !register(receive, piece)) {
      return true;
    }
    long result =
        sender.startRemote(
            range == null ? piece.local : null,
            piece.pathId,
            OneSided.READ,
            piece.address + receive.posted - piece.startPosition,
            piece.rkey,
            address,
            lengthBytes,
            0,
            0,
            TOKEN | (receive.id() & SLOT_MASK));
    waitsForRoom |= result == SendResult.BACK_PRESSURED;
    if (result < 0) {
      return false;
    }
    receive.readStarted(lengthBytes);
    reads++;
    return true;
  }

  /** Makes the piece's part of the target known to the device, or asks for messages instead. */
  private boolean register(LargeReceive receive, LargeReceive.Piece piece) {
    MemoryRegistrar registrar = endpoint.registrar();
    try {
      if (registrar != null && receive.target().scope().isAlive()) {
        piece.local =
            registrar.register(
                receive.target().address() + piece.startPosition,
                piece.lengthBytes,
                MemoryAccess.LOCAL_WRITE);
        return true;
      }
      stop(receive, Cause.MEMORY, "the arena of the target is closed");
    } catch (Rdma4jException e) {
      LOG.log(
          Level.WARNING,
          () -> "a large message goes on by messages, since its target is refused: " + e);
      receive.byMessages = true;
      receive.stopped = true;
    }
    return false;
  }

  /** Sends what is due; what finds no room is tried again. */
  private int speak(LargeReceive receive) {
    int work = 0;
    if (receive.acceptDue && send(receive, MessageType.LARGE_ACCEPT, accept(receive))) {
      receive.acceptDue = false;
      work++;
    }
    if (receive.takenDue
        && !receive.ended
        && send(receive, MessageType.LARGE_TAKEN, taken(receive))) {
      receive.takenDue = false;
      work++;
    }
    if (receive.againDue
        && !receive.ended
        && send(receive, MessageType.LARGE_AGAIN, again(receive))) {
      receive.againDue = false;
      work++;
    }
    if (receive.endDue && send(receive, MessageType.LARGE_END, end(receive))) {
      slots[(int) receive.id() & SLOT_MASK] = null;
      active--;
      work++;
    }
    return work;
  }

  private int accept(LargeReceive receive) {
    LargeWire.putLong(scratch, 0, pathId(receive));
    return LargeWire.ACCEPT_BYTES;
  }

  private int taken(LargeReceive receive) {
    LargeWire.putLong(scratch, 0, receive.taken);
    return LargeWire.POSITION_BYTES;
  }

  private int again(LargeReceive receive) {
    LargeWire.putLong(scratch, 0, receive.taken);
    LargeWire.putLong(scratch, 8, pathId(receive));
    return LargeWire.AGAIN_BYTES;
  }

  private int end(LargeReceive receive) {
    int lengthBytes = LargeWire.writeEnd(scratch, receive.endStatus, receive.endReason);
    return Math.min(lengthBytes, sender.maxMessageBytes());
  }

  private long pathId(LargeReceive receive) {
    OneSided device = receive.byMessages ? null : endpoint.oneSided();
    return device == null ? 0 : device.pathId();
  }

  private boolean send(LargeReceive receive, int type, int lengthBytes) {
    long result = sender.sendOwn(type, receive.id(), scratch, 0, lengthBytes);
    waitsForRoom |= result == SendResult.BACK_PRESSURED;
    return result >= 0;
  }

  /** Ends all: the connection has ended, and the device has let go. */
  void end(String reason) {
    settle();
    for (int slot = 0; slot < slots.length; slot++) {
      LargeReceive receive = slots[slot];
      slots[slot] = null;
      if (receive != null && !receive.ended) {
        receive.dropPieces();
        receive.finish(Cause.DISCONNECTED, "the connection ended before the message: " + reason);
      }
    }
    active = 0;
  }
}
