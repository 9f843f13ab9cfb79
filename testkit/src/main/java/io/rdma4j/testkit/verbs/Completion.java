package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.Completions;
import org.jspecify.annotations.Nullable;

/** One entry of a scripted completion queue, reused. */
final class Completion {
  long wrId;
  int status;
  int opcode;
  int vendorError;
  int lengthBytes;
  int immediate;
  int flags;
  int queuePairNumber;

  /** Null once the queue pair has been destroyed: its entries are gone with it. */
  @Nullable ScriptedQueuePair queuePair;

  /** Sends up to this number are off the send queue once this is polled; 0: none, -1: a receive. */
  long sendSequence;

  boolean isReceive() {
    return sendSequence < 0;
  }

  void copyFrom(Completion other) {
    wrId = other.wrId;
    status = other.status;
    opcode = other.opcode;
    vendorError = other.vendorError;
    lengthBytes = other.lengthBytes;
    immediate = other.immediate;
    flags = other.flags;
    queuePairNumber = other.queuePairNumber;
    queuePair = other.queuePair;
    sendSequence = other.sendSequence;
  }

  void writeTo(Completions batch, int i) {
    batch.set(i, wrId, status, opcode, vendorError, lengthBytes, immediate, queuePairNumber, flags);
  }
}
