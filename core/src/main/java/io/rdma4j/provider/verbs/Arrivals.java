package io.rdma4j.provider.verbs;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.ReceiveMemory;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * What becomes of a message that the device has received: its header is checked and its credits
 * noted, the listener gets it, and its receive goes back.
 *
 * <p>Polling thread only.
 */
final class Arrivals {
  private static final int NONE = -1;

  private final ReceiveSide receives;
  private final ReceiveSlots slots;
  private final SendSide sends;
  private final int maxMessageBytes;
  private final int window;
  private boolean reposting = true;
  private int delivering = NONE;

  /** Keeps the loads of {@link #touch} from being left out. */
  @SuppressWarnings("UnusedVariable")
  private long touched;

  private @Nullable EndpointFailure end;

  Arrivals(ReceiveSide receives, SendSide sends, EndpointConfig config) {
    this.receives = receives;
    this.sends = sends;
    slots = receives.slots();
    maxMessageBytes = config.maxMessageBytes();
    window = config.window();
  }

  /** The peer may send nothing into receives that come back from now on. */
  void stopReposting() {
    reposting = false;
  }

  /**
   * Returns why nothing more of the peer counts: its goodbye or a violation; null while it does.
   */
  @Nullable EndpointFailure end() {
    return end;
  }

  /**
   * Loads the first lines of a message that will be taken soon. Messages of one batch lie far
   * apart; their lines come together this way, and not one after the other.
   */
  void touch(int slot) {
    touched += MessageHeader.first(slots.header(slot), slots.headerOffset(slot));
    touched += slots.payload(slot).get(JAVA_BYTE, slots.payloadOffset());
  }

  /** Takes a receive back whose message is not to be delivered, or that was flushed. */
  void discard(int slot) {
    receives.taken();
    receives.giveUp(slot);
  }

  /**
   * Takes a receive with a message.
   *
   * @return the messages delivered: 1 or 0
   */
  int take(int slot, int receivedBytes, EndpointListener listener) {
    receives.taken();
    MemorySegment header = slots.header(slot);
    long at = slots.headerOffset(slot);
    long first = MessageHeader.first(header, at);
    byte kind = MessageHeader.kind(first);
    int lengthBytes = MessageHeader.lengthBytes(first);
    if (receivedBytes < MessageHeader.BYTES
        || lengthBytes != receivedBytes - MessageHeader.BYTES
        || lengthBytes > (kind == MessageHeader.DATA ? maxMessageBytes : 0)) {
      return violation(
          slot,
          receivedBytes + " bytes received, kind " + kind + ", payload length " + lengthBytes);
    }
    short credits = MessageHeader.credits(first);
    return switch (kind) {
      case MessageHeader.DATA ->
          onData(
              slot,
              MessageHeader.type(first),
              MessageHeader.correlationId(header, at),
              lengthBytes,
              credits,
              listener);
      case MessageHeader.CREDIT -> onCredit(slot, credits);
      case MessageHeader.GOODBYE -> onGoodbye(slot);
      default -> violation(slot, "unknown kind " + kind);
    };
  }

  /**
   * Takes a receive that a peer's write has used up, filling nothing of it.
   *
   * @return 1, for the immediate delivered
   */
  int takeImmediate(int slot, int immediate, int lengthBytes, EndpointListener listener) {
    receives.taken();
    try {
      listener.onImmediate(immediate, lengthBytes);
    } finally {
      giveBackData(slot);
    }
    return 1;
  }

  private int onData(
      int slot,
      int type,
      long correlationId,
      int lengthBytes,
      short credits,
      EndpointListener listener) {
    if (!sends.takeCredits(credits, window)) {
      return excessCredits(slot, credits);
    }
    delivering = slot;
    try {
      listener.onMessage(
          type, correlationId, slots.payload(slot), slots.payloadOffset(), lengthBytes);
    } finally {
      delivering = NONE;
      giveBackData(slot);
    }
    return 1;
  }

  private void giveBackData(int slot) {
    if (reposting) {
      receives.recycleData(slot);
    } else {
      receives.giveUp(slot);
    }
  }

  /** Hands over the block of the message being delivered; see {@link ReceiveSlots#handOver}. */
  long handOver() {
    int slot = delivering;
    if (slot == NONE) {
      return ReceiveMemory.NONE;
    }
    long block = slots.handOver(slot);
    if (block != ReceiveMemory.NONE) {
      delivering = NONE;
    }
    return block;
  }

  /** In this order: the peer may send the next credit message once it sees more credits used. */
  private int onCredit(int slot, short credits) {
    if (reposting) {
      receives.recycleControl(slot);
    } else {
      receives.giveUp(slot);
    }
    return sends.takeCredits(credits, window) ? 0 : excess(credits);
  }

  private int onGoodbye(int slot) {
    receives.giveUp(slot);
    end = new EndpointFailure(Kind.PEER_CLOSED, "the peer has closed the connection");
    return 0;
  }

  private int excessCredits(int slot, short credits) {
    receives.giveUp(slot);
    return excess(credits);
  }

  private int excess(short credits) {
    return violated("credits up to " + credits + " for messages never sent");
  }

  private int violation(int slot, String what) {
    receives.giveUp(slot);
    return violated(what);
  }

  private int violated(String what) {
    end = new EndpointFailure(Kind.PROTOCOL, "the peer broke the protocol: " + what);
    return 0;
  }
}
