package io.rdma4j.transport;

import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The receiving end of a large message: an offer first, then a transfer.
 *
 * <p>{@link #accept} or {@link #refuse} once, in {@link ConnectionHandler#onLarge} or later, from
 * any thread.
 *
 * <pre>
 *  taken       posted        arrived                lengthBytes
 *  | in the target | asked of   | known where to read |  not heard of yet  |
 *                    the device
 * </pre>
 */
public final class LargeReceive extends LargeTransfer {
  private static final int UNDECIDED = 0;
  private static final int ACCEPTED = 1;
  private static final int REFUSED = 2;

  /** A stretch of the message that was announced: with a key, or whose bytes are there. */
  static final class Piece {
    boolean hasKey;
    long pathId;
    long address;
    int rkey;
    long startPosition;
    long lengthBytes;
    @Nullable Registration local;
  }

  private final AtomicInteger decision = new AtomicInteger();
  private volatile MemorySegment target = MemorySegment.NULL;
  private volatile String refusal = "";

  // The polling thread's.
  boolean accepted;
  boolean acceptDue;
  boolean takenDue;
  boolean againDue;
  boolean endDue;
  int endStatus;
  String endReason = "";

  /** Nothing more is asked of the device; what was asked has to come back. */
  boolean stopped;

  /** Keys were of no use; what comes is not counted until the sender says from where. */
  boolean awaitsFrom;

  /** A read has failed, so what later ones brought does not follow on what was taken. */
  boolean readFailed;

  /** The device does not know the target. */
  boolean byMessages;

  LargeTransferException.@Nullable Cause endCause;
  boolean ended;
  long taken;
  long posted;
  long arrived;

  private final Piece[] pieces = new Piece[LargeSend.PIECES];
  private int firstPiece;
  private int pieceCount;
  private final int[] readLengths = new int[LargeReceives.MAX_READS];
  private int firstRead;
  private int reads;

  LargeReceive(Connection connection, long id, long tag, long lengthBytes) {
    super(connection, id, tag, lengthBytes, null);
    for (int i = 0; i < pieces.length; i++) {
      pieces[i] = new Piece();
    }
  }

  /**
   * Takes the message. The device reads straight into memory of the node's pool, and into other
   * memory after making it known piece by piece; without a device each piece is copied once here,
   * and once at the sender.
   *
   * @param target native memory, at least as long as the message and accessible by the polling
   *     thread; belongs to the transfer until its end is told
   * @param handler hears the end, of an offer that has ended already at once; null for a thread
   *     that waits instead
   * @throws IllegalStateException when it was accepted or refused before
   */
  public void accept(MemorySegment target, @Nullable LargeHandler handler) {
    requireUsable(target);
    if (target.byteSize() < lengthBytes() || target.isReadOnly()) {
      throw new IllegalArgumentException(
          "%s can not take %d bytes; use writable memory of that length"
              .formatted(target, lengthBytes()));
    }
    decide(ACCEPTED);
    this.target = target;
    handler(handler);
    decision.set(ACCEPTED);
    connection().poller().wakeUp();
  }

  /**
   * Turns the message down.
   *
   * @param reason for the sender, of which up to 512 bytes travel
   * @throws IllegalStateException when it was accepted or refused before
   */
  public void refuse(String reason) {
    decide(REFUSED);
    refusal = reason;
    decision.set(REFUSED);
    connection().poller().wakeUp();
  }

  /** Takes the decision; it counts when it is set without the sign. */
  private void decide(int which) {
    if (!decision.compareAndSet(UNDECIDED, -which)) {
      throw new IllegalStateException("this offer was accepted or refused before: " + this);
    }
  }

  boolean wasAccepted() {
    return decision.get() == ACCEPTED;
  }

  boolean wasRefused() {
    return decision.get() == REFUSED;
  }

  MemorySegment target() {
    return target;
  }

  String refusal() {
    return refusal;
  }

  // ---- pieces, polling thread ------------------------------------------------------------------

  int pieces() {
    return pieceCount;
  }

  /** Adds a piece behind the others; the caller fills in where it is read. */
  Piece addPiece(long lengthBytes, boolean hasKey) {
    Piece piece = pieces[(firstPiece + pieceCount++) % pieces.length];
    piece.hasKey = hasKey;
    piece.startPosition = arrived;
    piece.lengthBytes = lengthBytes;
    arrived += lengthBytes;
    return piece;
  }

  /**
   * Returns the piece that holds the first byte that was not asked for, null when there is none.
   */
  @Nullable Piece pieceToRead() {
    for (int i = 0; i < pieceCount; i++) {
      Piece piece = pieces[(firstPiece + i) % pieces.length];
      if (posted < piece.startPosition + piece.lengthBytes) {
        if (piece.hasKey) {
          return piece;
        }
        posted = piece.startPosition + piece.lengthBytes;
      }
    }
    return null;
  }

  /** Lets go of the pieces that are in the target whole. */
  void advance() {
    while (pieceCount > 0) {
      Piece piece = pieces[firstPiece];
      long end = piece.startPosition + piece.lengthBytes;
      if (piece.hasKey && taken < end) {
        return;
      }
      taken = Math.max(taken, end);
      takenDue = true;
      dropFirst();
    }
  }

  private void dropFirst() {
    Piece piece = pieces[firstPiece];
    firstPiece = (firstPiece + 1) % pieces.length;
    pieceCount--;
    Registration local = piece.local;
    piece.local = null;
    if (local != null) {
      local.revoke();
    }
  }

  /** Forgets all that was announced and is not in the target. */
  void dropPieces() {
    while (pieceCount > 0) {
      dropFirst();
    }
    posted = taken;
    arrived = taken;
  }

  // ---- reads of the device, polling thread -----------------------------------------------------

  int reads() {
    return reads;
  }

  void readStarted(int lengthBytes) {
    readLengths[(firstRead + reads++) % readLengths.length] = lengthBytes;
    posted += lengthBytes;
  }

  /** Notes the end of the oldest read and returns its length. */
  int readEnded() {
    int lengthBytes = readLengths[firstRead];
    firstRead = (firstRead + 1) % readLengths.length;
    reads--;
    return lengthBytes;
  }
}
