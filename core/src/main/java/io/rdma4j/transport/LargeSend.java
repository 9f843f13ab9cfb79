package io.rdma4j.transport;

import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The sending end of a large message.
 *
 * <pre>
 *  state      means                                         left when
 *  NEW        the offer waits for room                      it was sent -> OFFERED
 *  OFFERED    the receiver thinks about it                  it accepts -> FLOWING
 *  FLOWING    pieces go out, some wait to be taken          all of it is done -> ENDED
 *  ENDING     this side wants the end and has said so       the receiver has let go -> ENDED
 *  ENDED      everything was given back and told            -
 * </pre>
 *
 * <p>A piece is the payload of a message, or a stretch of the source that the receiver's device may
 * read. The fields below are the polling thread's.
 */
public final class LargeSend extends LargeTransfer {
  /** Pieces that the receiver has not taken, at most. */
  static final int PIECES = 8;

  enum State {
    NEW,
    OFFERED,
    FLOWING,
    ENDING,
    ENDED
  }

  final MemorySegment source;
  final long deadlineNs;
  State state = State.NEW;

  /** Start of what was not sent yet. */
  long position;

  /** Path whose device the receiver reads with, 0 for none. */
  long pathId;

  /** The receiver wants to hear from where it goes on. */
  boolean fromDue;

  /** Why this side ends it. */
  LargeTransferException.@Nullable Cause endCause;

  String endReason = "";
  boolean endDue;
  long endingSinceNs;

  private final long[] ends = new long[PIECES];
  private final @Nullable Registration[] registrations = new Registration[PIECES];
  private int first;
  private int count;
  private int keys;

  LargeSend(
      Connection connection,
      long id,
      long tag,
      MemorySegment source,
      long deadlineNs,
      @Nullable LargeHandler handler) {
    super(connection, id, tag, source.byteSize(), handler);
    this.source = source;
    this.deadlineNs = deadlineNs;
  }

  boolean hasAllSent() {
    return position == lengthBytes();
  }

  /** Returns how many pieces the receiver has not taken. */
  int pieces() {
    return count;
  }

  /** Returns how many of them are stretches for the receiver's device. */
  int keys() {
    return keys;
  }

  /** Notes a piece that was sent. */
  void sent(int lengthBytes, @Nullable Registration registration) {
    position += lengthBytes;
    int at = (first + count) % PIECES;
    ends[at] = position;
    registrations[at] = registration;
    count++;
    keys += registration == null ? 0 : 1;
  }

  /** Lets go of all pieces before a position; returns how many were messages. */
  int taken(long upTo) {
    int messages = 0;
    while (count > 0 && ends[first] <= upTo) {
      messages += letGo() ? 0 : 1;
    }
    return messages;
  }

  /** Lets go of all pieces; returns how many were messages. */
  int dropPieces() {
    return taken(Long.MAX_VALUE);
  }

  /** Lets go of the oldest piece; returns whether a device knew it. */
  private boolean letGo() {
    Registration registration = registrations[first];
    registrations[first] = null;
    first = (first + 1) % PIECES;
    count--;
    if (registration == null) {
      return false;
    }
    keys--;
    registration.revoke();
    return true;
  }
}
