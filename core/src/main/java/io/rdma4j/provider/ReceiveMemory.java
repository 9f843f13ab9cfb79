package io.rdma4j.provider;

import java.lang.foreign.MemorySegment;

/**
 * Registered memory that a provider takes for its receives, block by block. A block is named by its
 * handle, a positive number, and belongs to whoever has taken it.
 *
 * <p>Safe for use by several threads.
 */
public interface ReceiveMemory {
  /** Stands for no block. */
  long NONE = 0;

  /** Returns the length of the longest message that a receive of this node has to hold. */
  int maxMessageBytes();

  /**
   * Takes a block for a connection that is being set up; may wait until memory is mapped and
   * registered. Not for polling threads.
   *
   * @return its handle, {@link #NONE} when there is no memory
   * @throws io.rdma4j.Rdma4jException when a device refuses more memory
   */
  long take(int lengthBytes);

  /**
   * Takes a block that is free at this moment. Never waits, makes no garbage.
   *
   * @return its handle, {@link #NONE} when none is free
   */
  long takeFree(int lengthBytes);

  /**
   * Returns the memory of a block, at least as long as was asked for; the same object each time.
   */
  MemorySegment segment(long block);

  /** Returns the local key of a block with a registrar that its memory is registered with. */
  int lkey(long block, MemoryRegistrar registrar);

  /** Gives a block back. */
  void giveBack(long block);
}
