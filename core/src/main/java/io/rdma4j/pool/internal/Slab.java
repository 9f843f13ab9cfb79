package io.rdma4j.pool.internal;

import io.rdma4j.os.Mapping;
import io.rdma4j.pool.internal.SlabFactory.RegisteredMemory;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.List;

/**
 * One mapping, registered once with every registrar, carved into blocks of one class.
 *
 * <p>The generation of a block is the only word that several threads write: whoever holds a free
 * block leases it with a plain step, and a release is a compare-and-set from the generation that
 * the releaser was given, so of two releases one fails.
 */
public final class Slab {
  private static final VarHandle GENERATION = MethodHandles.arrayElementVarHandle(int[].class);

  private final int number;
  private final int sizeClass;
  private final Mapping mapping;
  private final List<Registration> registrations;
  private final int[] lkeys;
  private final int[] rkeys;
  private final MemorySegment[] segments;
  private final int[] generations;
  private volatile boolean deregistered;

  /**
   * Carves registered memory, which belongs to the slab from here on.
   *
   * @param number the slab's place in its table
   * @param firstGeneration even, see {@link BlockHandle}
   */
  Slab(int number, int sizeClass, int blockBytes, int firstGeneration, RegisteredMemory memory) {
    this.number = number;
    this.sizeClass = sizeClass;
    this.mapping = memory.mapping();
    this.registrations = memory.registrations();
    this.lkeys = registrations.stream().mapToInt(Registration::lkey).toArray();
    this.rkeys = registrations.stream().mapToInt(Registration::rkey).toArray();
    this.segments = new MemorySegment[(int) (mapping.lengthBytes() / blockBytes)];
    for (int i = 0; i < segments.length; i++) {
      segments[i] = mapping.segment().asSlice((long) i * blockBytes, blockBytes);
    }
    this.generations = new int[segments.length];
    Arrays.fill(generations, firstGeneration);
  }

  /** Returns the slab's place in its table. */
  int number() {
    return number;
  }

  /** Returns the class of all its blocks. */
  public int sizeClass() {
    return sizeClass;
  }

  /** Returns the number of blocks. */
  int blocks() {
    return segments.length;
  }

  /** Returns a block's memory. */
  public MemorySegment segment(int index) {
    return segments[index];
  }

  /** Returns the local key with the registrar of that place in the pool's list. */
  public int lkey(int registrar) {
    return lkeys[registrar];
  }

  /** Returns the remote key with the registrar of that place in the pool's list. */
  public int rkey(int registrar) {
    return rkeys[registrar];
  }

  /** Marks a free block, held by this thread alone, as leased; returns its new generation. */
  public int lease(int index) {
    int generation = BlockHandle.next(generations[index]);
    GENERATION.setOpaque(generations, index, generation);
    return generation;
  }

  /** Returns true while the lease of that generation lasts. */
  public boolean isLeased(int index, int generation) {
    return (int) GENERATION.getOpaque(generations, index) == generation
        && BlockHandle.isLeased(generation);
  }

  /** Ends the lease of that generation; false when it has ended already. */
  boolean endLease(int index, int generation) {
    return BlockHandle.isLeased(generation)
        && GENERATION.compareAndSet(generations, index, generation, BlockHandle.next(generation));
  }

  /** Returns the number of blocks on lease, exact when no thread leases or releases meanwhile. */
  int leasedBlocks() {
    int leased = 0;
    for (int i = 0; i < generations.length; i++) {
      if (BlockHandle.isLeased((int) GENERATION.getAcquire(generations, i))) {
        leased++;
      }
    }
    return leased;
  }

  List<Registration> registrations() {
    return registrations;
  }

  /** Notes that no device can reach the memory any more. */
  void markDeregistered() {
    deregistered = true;
  }

  /** Returns true once no device can reach the memory any more. */
  boolean isDeregistered() {
    return deregistered;
  }

  boolean isMapped() {
    return mapping.segment().scope().isAlive();
  }

  /** Unmaps the memory; every access through a block's segment fails from here on. */
  void unmap() {
    mapping.close();
  }
}
