package io.rdma4j.pool.internal;

import io.rdma4j.os.Mapping;
import io.rdma4j.pool.RegisteredRange;
import io.rdma4j.pool.internal.SlabFactory.RegisteredMemory;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

/**
 * One mapping, registered once with every registrar, carved into blocks of one class.
 *
 * <pre>
 *               idle                      idle for longer
 *  ACTIVE -----------------&gt; PENDING ---------------------&gt; GONE
 *     ^                         |
 *     +-------------------------+
 *        a block is wanted again
 * </pre>
 *
 * A pending slab's blocks are all free and in nobody's reach but the slab's own; it is registered
 * still, and whoever moves the state on owns the blocks.
 */
public final class Slab implements RegisteredRange {
  /** Where a slab is in its life. */
  enum State {
    ACTIVE,
    PENDING,
    GONE
  }

  private final int number;
  private final int firstBlock;
  private final int sizeClass;
  private final int node;
  private final boolean fallback;
  private final RegisteredMemory memory;
  private final int[] lkeys;
  private final int[] rkeys;
  private final MemorySegment[] segments;
  private final AtomicReference<State> state = new AtomicReference<>(State.ACTIVE);
  private final Heat heat;
  private volatile boolean adopted;
  private volatile boolean forgotten;

  /**
   * Carves registered memory, which belongs to the slab from here on.
   *
   * @param number the slab's place in its table
   * @param firstBlock number of its first block; the others follow
   * @param fallback whether it was made for one request that could not wait
   */
  Slab(
      int number,
      int firstBlock,
      int sizeClass,
      int blockBytes,
      boolean fallback,
      RegisteredMemory memory,
      Heat heat) {
    this.number = number;
    this.firstBlock = firstBlock;
    this.sizeClass = sizeClass;
    this.node = memory.node();
    this.fallback = fallback;
    this.memory = memory;
    List<Registration> registrations = memory.registrations();
    this.lkeys = registrations.stream().mapToInt(Registration::lkey).toArray();
    this.rkeys = registrations.stream().mapToInt(Registration::rkey).toArray();
    Mapping mapping = memory.mapping();
    this.segments = new MemorySegment[fallback ? 1 : (int) (mapping.lengthBytes() / blockBytes)];
    for (int i = 0; i < segments.length; i++) {
      segments[i] = mapping.segment().asSlice((long) i * blockBytes, blockBytes);
    }
    this.heat = heat;
  }

  /** Returns the slab's place in its table. */
  int number() {
    return number;
  }

  int firstBlock() {
    return firstBlock;
  }

  /** Returns the class of all its blocks. */
  public int sizeClass() {
    return sizeClass;
  }

  /** Returns the NUMA node its memory was placed on, -1 when unknown. */
  int node() {
    return node;
  }

  /** Returns true for memory that was registered for one request that could not wait. */
  boolean isFallback() {
    return fallback;
  }

  /** Notes that a fallback slab serves everybody now; false when that was so before. */
  boolean adopt() {
    boolean first = !adopted;
    adopted = true;
    return first;
  }

  /** Returns the size of a block. */
  int blockBytes() {
    return (int) segments[0].byteSize();
  }

  /** Returns the number of blocks. */
  int blocks() {
    return segments.length;
  }

  /** Returns the bytes mapped and registered. */
  @Override
  public long lengthBytes() {
    return memory.mapping().lengthBytes();
  }

  @Override
  public long address() {
    return memory.mapping().address();
  }

  /** Returns a block's memory. */
  public MemorySegment segment(int index) {
    return segments[index];
  }

  /** Returns the local key with the registrar of that place in the pool's list. */
  @Override
  public int lkey(int registrar) {
    return lkeys[registrar];
  }

  /** Returns the remote key with the registrar of that place in the pool's list. */
  @Override
  public int rkey(int registrar) {
    return rkeys[registrar];
  }

  State state() {
    return state.get();
  }

  /** Moves the state on; false when another thread has. */
  boolean move(State from, State to) {
    return state.compareAndSet(from, to);
  }

  /** Notes that no device can reach the memory any more. */
  void markForgotten() {
    forgotten = true;
  }

  /** Returns true once no device can reach the memory any more. */
  boolean isForgotten() {
    return forgotten;
  }

  Heat heat() {
    return heat;
  }

  RegisteredMemory memory() {
    return memory;
  }

  boolean isMapped() {
    return memory.mapping().segment().scope().isAlive();
  }

  /** Unmaps the memory; every access through a block's segment fails from here on. */
  void unmap() {
    memory.mapping().close();
  }

  /**
   * Returns the number of blocks that are on lease by their states: more than really are while
   * threads keep some for themselves, see {@link LiveBlocks}.
   */
  int leasedBlocks(BlockStates states) {
    int leased = 0;
    for (int i = 0; i < segments.length; i++) {
      int block = firstBlock + i;
      leased += BlockState.isLeased(states.getAcquire(block), block) ? 1 : 0;
    }
    return leased;
  }
}
