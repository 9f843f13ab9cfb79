package io.rdma4j.provider.verbs;

import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.ReceiveMemory;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.ScatterTable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;

/**
 * The receives of one queue: each has a header of its own and a block of {@link ReceiveMemory} for
 * the payload. Since the payload starts the block, the block can be given away as it is.
 *
 * <pre>
 *  receive n    scatter entry 0  -&gt; header n, 16 bytes on a cache line
 *               scatter entry 1  -&gt; block n, payload from 0
 *
 *  on a device that can not scatter
 *  receive n    scatter entry 0  -&gt; block n, header from 0, payload from 16; never given away
 * </pre>
 *
 * <p>A slot belongs to the device, or to the endpoint whose completion has shown it. What one
 * thread writes to a slot another may read once the device has had the receive in between; the
 * posting and the completion order the two.
 */
final class ReceiveSlots implements AutoCloseable {
  private final ReceiveMemory memory;
  private final MemoryRegistrar registrar;
  private final @Nullable SlotMemory headers;
  private final int maxMessageBytes;
  private final int blockBytes;
  private final int payloadOffset;
  private final long[] blocks;
  private final MemorySegment[] segments;
  private final ScatterTable entries;

  /**
   * Makes slots without blocks.
   *
   * @param scatters whether a receive may have two scatter entries
   */
  ReceiveSlots(
      ReceiveMemory memory,
      MemoryRegistrar registrar,
      ProtectionDomain domain,
      int count,
      int maxMessageBytes,
      boolean scatters) {
    this.memory = memory;
    this.registrar = registrar;
    this.maxMessageBytes = maxMessageBytes;
    blockBytes = blockBytes(maxMessageBytes, scatters);
    payloadOffset = blockBytes - maxMessageBytes;
    blocks = new long[count];
    segments = new MemorySegment[count];
    entries = new ScatterTable(count, scatters ? 2 : 1);
    try {
      headers = scatters ? new SlotMemory(domain, count, MessageHeader.BYTES) : null;
    } catch (RuntimeException | OutOfMemoryError e) {
      entries.close();
      throw e;
    }
    for (int slot = 0; slot < count && headers != null; slot++) {
      long header = headers.address(headers.offset(slot));
      entries.set(slot, 0, header, MessageHeader.BYTES, headers.lkey());
    }
  }

  /** Returns the bytes of a block that holds a message of the largest size. */
  static int blockBytes(int maxMessageBytes, boolean scatters) {
    return scatters ? maxMessageBytes : MessageHeader.BYTES + maxMessageBytes;
  }

  /** Returns the scatter entries of a receive. */
  int scatterEntries() {
    return entries.entries();
  }

  int count() {
    return blocks.length;
  }

  /**
   * Gives a slot its block if it has none; may wait for memory.
   *
   * @throws IOException when there is none
   */
  void fill(int slot) throws IOException {
    if (blocks[slot] != ReceiveMemory.NONE) {
      return;
    }
    long block = memory.take(blockBytes);
    if (block == ReceiveMemory.NONE) {
      throw new IOException(
          String.format(
              "no memory for receive %d of %d, of %d bytes each: raise the pool's budget"
                  + " (rdma4j.pool.maxBytes) or its receive reserve"
                  + " (rdma4j.pool.receiveReserveBlocks), or lower window or maxMessageBytes",
              slot + 1, blocks.length, blockBytes));
    }
    put(slot, block);
  }

  /** Gives a slot its block if it has none and one is free; returns whether it has one. */
  boolean fillFromFree(int slot) {
    return blocks[slot] != ReceiveMemory.NONE || putFree(slot);
  }

  private boolean putFree(int slot) {
    long block = memory.takeFree(blockBytes);
    if (block == ReceiveMemory.NONE) {
      return false;
    }
    put(slot, block);
    return true;
  }

  private void put(int slot, long block) {
    blocks[slot] = block;
    segments[slot] = memory.segment(block);
    entries.set(
        slot,
        entries.entries() - 1,
        segments[slot].address(),
        blockBytes,
        memory.lkey(block, registrar));
  }

  /**
   * Gives the block of a slot away and puts a free one in its place.
   *
   * @return the block, {@link ReceiveMemory#NONE} when no other is free: the slot keeps its own
   */
  long handOver(int slot) {
    if (headers == null) {
      return ReceiveMemory.NONE;
    }
    long block = blocks[slot];
    return putFree(slot) ? block : ReceiveMemory.NONE;
  }

  /** Adds the receive of a slot to a list. */
  void addTo(ReceiveList list, int slot) {
    list.add(WorkRequestId.ofReceive(slot), entries, slot);
  }

  /** Returns the memory that holds the header of a slot at {@link #headerOffset}. */
  MemorySegment header(int slot) {
    return headers == null ? segments[slot] : headers.memory();
  }

  long headerOffset(int slot) {
    return headers == null ? 0 : headers.offset(slot);
  }

  /** Returns the memory that holds the payload of a slot from {@link #payloadOffset} on. */
  MemorySegment payload(int slot) {
    return segments[slot];
  }

  int payloadOffset() {
    return payloadOffset;
  }

  int maxMessageBytes() {
    return maxMessageBytes;
  }

  /** Gives all blocks back; the queue that used them must be destroyed. */
  @Override
  public void close() {
    for (int slot = 0; slot < blocks.length; slot++) {
      if (blocks[slot] != ReceiveMemory.NONE) {
        memory.giveBack(blocks[slot]);
        blocks[slot] = ReceiveMemory.NONE;
      }
    }
    entries.close();
    if (headers != null) {
      headers.close();
    }
  }
}
