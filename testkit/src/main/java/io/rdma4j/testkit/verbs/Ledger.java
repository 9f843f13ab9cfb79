package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.SendList;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * What a scripted stack was asked, and which of its objects are alive.
 *
 * <p>Safe for use by several threads.
 */
public final class Ledger {
  /** Kinds of objects that must be given back. */
  public enum Kind {
    /** Opened device context. */
    DEVICE,
    /** Protection domain. */
    PROTECTION_DOMAIN,
    /** Memory region. */
    MEMORY_REGION,
    /** Completion channel. */
    COMPLETION_CHANNEL,
    /** Completion queue. */
    COMPLETION_QUEUE,
    /** Queue pair. */
    QUEUE_PAIR,
    /** Shared receive queue. */
    SHARED_RECEIVE_QUEUE,
    /** rdma_cm identifier. */
    CM_ID
  }

  private final Map<Kind, Integer> live = new EnumMap<>(Kind.class);
  private final List<Long> registeredLengths = new ArrayList<>();
  private final List<Integer> registeredAccess = new ArrayList<>();
  private final List<Long> deregistered = new ArrayList<>();
  private long sendDoorbells;
  private long sendsPosted;
  private long receiveDoorbells;
  private long receivesPosted;
  private long inlineSends;
  private long signaledSends;
  private long receiverNotReady;
  private long stalePosts;
  private long remoteReads;
  private long remoteWrites;
  private long remoteAtomics;
  private int mostReadsUnderWay;

  Ledger() {}

  /** Returns how many objects of a kind are alive. */
  public synchronized int live(Kind kind) {
    return live.getOrDefault(kind, 0);
  }

  /** Returns the length of every registration ever made, in order. */
  public synchronized List<Long> registeredLengths() {
    return List.copyOf(registeredLengths);
  }

  /** Returns the access bits of every registration ever made, in order. */
  public synchronized List<Integer> registeredAccess() {
    return List.copyOf(registeredAccess);
  }

  /** Returns the start address of every region deregistered, in order. */
  public synchronized List<Long> deregisteredAddresses() {
    return List.copyOf(deregistered);
  }

  /** Returns the calls of ibv_post_send that took at least one request. */
  public synchronized long sendDoorbells() {
    return sendDoorbells;
  }

  /** Returns the send requests taken. */
  public synchronized long sendsPosted() {
    return sendsPosted;
  }

  /** Returns the calls of ibv_post_recv that took at least one request. */
  public synchronized long receiveDoorbells() {
    return receiveDoorbells;
  }

  /** Returns the receive requests taken. */
  public synchronized long receivesPosted() {
    return receivesPosted;
  }

  /** Returns the sends that carried their data inline. */
  public synchronized long inlineSends() {
    return inlineSends;
  }

  /** Returns the sends that asked for a completion. */
  public synchronized long signaledSends() {
    return signaledSends;
  }

  /** Returns how often a message found no receive posted. */
  public synchronized long receiverNotReady() {
    return receiverNotReady;
  }

  /** Returns the gather or scatter entries whose key was registered for an older mapping. */
  public synchronized long stalePosts() {
    return stalePosts;
  }

  /** Returns the RDMA reads taken. */
  public synchronized long remoteReads() {
    return remoteReads;
  }

  /** Returns the RDMA writes taken, those with immediate data too. */
  public synchronized long remoteWrites() {
    return remoteWrites;
  }

  /** Returns the atomics taken. */
  public synchronized long remoteAtomics() {
    return remoteAtomics;
  }

  /** Returns the most reads and atomics that were ever under way on one queue pair. */
  public synchronized int mostReadsUnderWay() {
    return mostReadsUnderWay;
  }

  /**
   * Checks that every object was given back.
   *
   * @throws AssertionError naming the kinds that are left
   */
  public synchronized void assertNothingLeft() {
    live.values().removeIf(count -> count == 0);
    if (!live.isEmpty()) {
      throw new AssertionError("left behind: " + live);
    }
  }

  synchronized void created(Kind kind) {
    live.merge(kind, 1, Integer::sum);
  }

  synchronized void destroyed(Kind kind) {
    if (live.merge(kind, -1, Integer::sum) < 0) {
      throw new AssertionError("more destroyed than created: " + kind);
    }
  }

  synchronized void registered(long lengthBytes, int access) {
    registeredAccess.add(access);
    registeredLengths.add(lengthBytes);
  }

  synchronized void deregistered(long address) {
    deregistered.add(address);
  }

  synchronized void sendsTaken(int count) {
    sendsPosted += count;
    sendDoorbells += count > 0 ? 1 : 0;
  }

  synchronized void receivesTaken(int count) {
    receivesPosted += count;
    receiveDoorbells += count > 0 ? 1 : 0;
  }

  synchronized void sendKind(boolean inline, boolean signaled) {
    inlineSends += inline ? 1 : 0;
    signaledSends += signaled ? 1 : 0;
  }

  synchronized void sendOpcode(int opcode) {
    switch (opcode) {
      case SendList.OP_RDMA_READ -> remoteReads++;
      case SendList.OP_RDMA_WRITE, SendList.OP_RDMA_WRITE_WITH_IMM -> remoteWrites++;
      case SendList.OP_FETCH_AND_ADD, SendList.OP_COMPARE_AND_SWAP -> remoteAtomics++;
      default -> {
        // A message.
      }
    }
  }

  synchronized void readsUnderWay(int count) {
    mostReadsUnderWay = Math.max(mostReadsUnderWay, count);
  }

  synchronized void receiverWasNotReady() {
    receiverNotReady++;
  }

  synchronized void stalePost() {
    stalePosts++;
  }
}
