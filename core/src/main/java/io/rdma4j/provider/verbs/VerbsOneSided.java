package io.rdma4j.provider.verbs;

import io.rdma4j.VerbsException;
import io.rdma4j.provider.OneSided;
import io.rdma4j.verbs.DeviceAttributes;
import io.rdma4j.verbs.DeviceAttributes.Atomics;

/**
 * The RDMA operations of an endpoint's queue pair. They take slots of the send queue beside
 * messages; only a write with immediate data needs a credit, since it uses up a receive.
 *
 * <p>Not on iWARP: there the completion of a write does not say that the peer has the data, no
 * write carries immediate data, and the target of a read has to be open to remote writes (RFC
 * 5040).
 */
final class VerbsOneSided implements OneSided {
  /** Reads and atomics under way in each direction, where both devices can do as many. */
  static final int MAX_READS = 16;

  private final VerbsEndpoint endpoint;
  private final SendSide sends;
  private final Atomics atomics;
  private final int maxTransferBytes;
  private final int maxReads;
  private final long pathId;

  /**
   * Prepares the operations of an endpoint.
   *
   * @param maxReads reads and atomics that both devices have agreed on
   * @param pathId the same at both ends
   */
  VerbsOneSided(
      VerbsEndpoint endpoint,
      SendSide sends,
      DeviceAttributes limits,
      int maxTransferBytes,
      int maxReads,
      long pathId) {
    this.endpoint = endpoint;
    this.sends = sends;
    this.atomics = limits.atomics();
    this.maxTransferBytes = maxTransferBytes;
    this.maxReads = maxReads;
    this.pathId = pathId;
    sends.limitReads(maxReads);
  }

  @Override
  public long pathId() {
    return pathId;
  }

  @Override
  public int maxTransferBytes() {
    return maxTransferBytes;
  }

  @Override
  public int maxReadsUnderWay() {
    return maxReads;
  }

  @Override
  public boolean startsAtomics() {
    return atomics != Atomics.NONE;
  }

  @Override
  public boolean servesAtomics() {
    return atomics == Atomics.GLOBAL;
  }

  @Override
  public long start(
      int opcode,
      long remoteAddress,
      int rkey,
      long localAddress,
      int lengthBytes,
      int lkey,
      long operand,
      long desired,
      long token) {
    if (lengthBytes < 1 || lengthBytes > maxTransferBytes || token < 0) {
      throw new IllegalArgumentException(
          "operation of %d bytes with token %d: the length is 1 to %d, the token not negative"
              .formatted(lengthBytes, token, maxTransferBytes));
    }
    if (!endpoint.isOpen()) {
      return endpoint.refusal();
    }
    try {
      return sends.startRemote(
          opcode, remoteAddress, rkey, localAddress, lengthBytes, lkey, operand, desired, token);
    } catch (PostRefusedException | VerbsException e) {
      return endpoint.failSend(e);
    }
  }
}
