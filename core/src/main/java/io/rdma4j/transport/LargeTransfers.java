package io.rdma4j.transport;

import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The large messages of a connection, in both directions, and the messages that carry them.
 *
 * <pre>
 *  sender                                          receiver
 *  LARGE_OFFER             ─────────────▶          ConnectionHandler.onLarge
 *                          ◀── LARGE_ACCEPT ─      LargeReceive.accept; or LARGE_END with a reason
 *  LARGE_KEY               ─────────────▶          the device reads, several fragments under way
 *   or LARGE_DATA          ─────────────▶          is copied into the target
 *  lets go of pieces       ◀── LARGE_TAKEN ─
 *  done                    ◀── LARGE_END ──        done
 *
 *  LARGE_CANCEL            ─────────────▶          starts nothing more, waits for the device
 *  gives back              ◀── LARGE_END ──        gives back
 * </pre>
 *
 * <p>The receiver decides: it is done, or has let go, when it says END. A cancel that crosses that
 * comes too late.
 *
 * <p>Polling thread, except where {@link LargeSends} says otherwise.
 */
final class LargeTransfers {
  private final Connection connection;
  private final LargeSends sends;
  private final LargeReceives receives;

  LargeTransfers(Connection connection, Endpoint endpoint, Sender sender) {
    this.connection = connection;
    EndpointConfig sizes = connection.node().config().endpoint();
    int room = Math.min(sizes.window(), sizes.ringBytes() / endpoint.maxMessageBytes());
    sends = new LargeSends(connection, endpoint, sender, room);
    receives = new LargeReceives(connection, endpoint, sender);
  }

  LargeSends sends() {
    return sends;
  }

  LargeReceives receives() {
    return receives;
  }

  int doWork() {
    return sends.doWork() + receives.doWork();
  }

  /** Returns whether something waits for room. Any thread. */
  boolean keepsSome() {
    return sends.keepsSome() || receives.keepsSome();
  }

  /** Wakes the poller for a deadline that has passed. Conductor only. */
  void housekeep(long nowNs) {
    if (sends.isDue(nowNs)) {
      connection.poller().wakeUp();
    }
  }

  /**
   * Takes a message of a transfer.
   *
   * @return null, or how the peer broke the protocol
   */
  @Nullable String onMessage(int type, long id, MemorySegment memory, long at, int lengthBytes) {
    boolean ok =
        switch (type) {
          case MessageType.LARGE_OFFER ->
              lengthBytes == LargeWire.OFFER_BYTES && offered(id, memory, at);
          case MessageType.LARGE_ACCEPT -> {
            if (lengthBytes == LargeWire.ACCEPT_BYTES) {
              sends.accepted(id, LargeWire.getLong(memory, at));
            }
            yield lengthBytes == LargeWire.ACCEPT_BYTES;
          }
          case MessageType.LARGE_DATA -> receives.data(id, memory, at, lengthBytes);
          case MessageType.LARGE_KEY ->
              lengthBytes == LargeWire.KEY_BYTES && receives.key(id, memory, at);
          case MessageType.LARGE_TAKEN ->
              lengthBytes == LargeWire.POSITION_BYTES
                  && sends.taken(id, LargeWire.getLong(memory, at));
          case MessageType.LARGE_AGAIN ->
              lengthBytes == LargeWire.AGAIN_BYTES
                  && sends.again(
                      id, LargeWire.getLong(memory, at), LargeWire.getLong(memory, at + 8));
          case MessageType.LARGE_FROM ->
              lengthBytes == LargeWire.POSITION_BYTES
                  && receives.from(id, LargeWire.getLong(memory, at));
          case MessageType.LARGE_CANCEL, MessageType.LARGE_END ->
              lengthBytes >= LargeWire.END_BYTES && ended(type, id, memory, at, lengthBytes);
          default -> false;
        };
    return ok
        ? null
        : "message %d of %d bytes for the large message %d".formatted(type, lengthBytes, id);
  }

  private boolean offered(long id, MemorySegment memory, long at) {
    LargeReceive offer =
        receives.offered(id, LargeWire.getLong(memory, at), LargeWire.getLong(memory, at + 8));
    if (offer != null) {
      connection.receiver().offered(offer);
    }
    return offer != null;
  }

  private boolean ended(int type, long id, MemorySegment memory, long at, int lengthBytes) {
    String reason = LargeWire.reason(memory, at, lengthBytes);
    if (type == MessageType.LARGE_END) {
      sends.ended(id, LargeWire.getInt(memory, at), reason);
    } else {
      receives.ended(id, reason);
    }
    return true;
  }

  /** Ends all: the connection has ended. */
  void end(String reason) {
    receives.end(reason);
    sends.end(reason);
  }
}
