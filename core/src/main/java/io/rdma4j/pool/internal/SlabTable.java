package io.rdma4j.pool.internal;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The pool's slabs by number, and the numbering of blocks: slab number in the high bits, place in
 * the slab in the low ones. Numbers of slabs that are gone are given out again. Reading takes no
 * lock.
 */
final class SlabTable {
  /** Numbers beyond those of whole slabs, for fallback slabs of one block. */
  static final int SPARE_SLABS = 1024;

  /** No block has the number 0, and so no handle is 0, whatever its generation. */
  private static final int FIRST_SLAB = 1;

  private static final VarHandle VERSION;

  static {
    try {
      VERSION = MethodHandles.lookup().findVarHandle(SlabTable.class, "version", Version.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final int indexBits;
  private final int mostSlabs;

  /**
   * Written under this object's monitor. Read without, and without a barrier: see {@link Version}.
   */
  private Version version = new Version(new Slab[0]);

  private boolean closed;

  /**
   * The slabs at some time. A thread that holds a block has seen the version that brought its slab,
   * or a later one; and whichever it sees, it sees whole, because the field is final.
   */
  private static final class Version {
    final @Nullable Slab[] slabs;

    Version(@Nullable Slab[] slabs) {
      this.slabs = slabs;
    }
  }

  /**
   * Creates an empty table.
   *
   * @param wholeSlabs most slabs that the budget has room for
   * @param blocksPerSlab most blocks that a slab can have
   */
  SlabTable(long wholeSlabs, int blocksPerSlab) {
    this.indexBits = Integer.SIZE - Integer.numberOfLeadingZeros(blocksPerSlab - 1);
    long most = FIRST_SLAB + wholeSlabs + SPARE_SLABS;
    this.mostSlabs = (int) Math.min(most, Integer.MAX_VALUE >>> indexBits);
  }

  int indexBits() {
    return indexBits;
  }

  /** Returns one more than the highest block number there can be. */
  long mostBlocks() {
    return (long) mostSlabs << indexBits;
  }

  /**
   * Makes a slab for the lowest free number and adds it.
   *
   * @return null when all numbers are taken
   * @throws IllegalStateException when the table is closed
   */
  synchronized @Nullable Slab add(IntFunction<Slab> maker) {
    if (closed) {
      throw new IllegalStateException("the pool was closed while it grew");
    }
    @Nullable Slab[] now = version.slabs;
    int number = FIRST_SLAB;
    while (number < now.length && now[number] != null) {
      number++;
    }
    if (number == mostSlabs) {
      return null;
    }
    Slab slab = maker.apply(number);
    @Nullable Slab[] changed = Arrays.copyOf(now, Math.max(now.length, number + 1));
    changed[number] = slab;
    publish(changed);
    return slab;
  }

  /** Forgets a slab, none of whose blocks is on lease or in any list; false when closed. */
  synchronized boolean remove(Slab slab) {
    if (closed) {
      return false;
    }
    @Nullable Slab[] changed = version.slabs.clone();
    changed[slab.number()] = null;
    publish(changed);
    return true;
  }

  private void publish(@Nullable Slab[] changed) {
    VERSION.setVolatile(this, new Version(changed));
  }

  private Version latest() {
    return (Version) VERSION.getVolatile(this);
  }

  /** Refuses changes from here on. */
  synchronized void close() {
    closed = true;
  }

  Slab[] all() {
    return Arrays.stream(latest().slabs).filter(Objects::nonNull).toArray(Slab[]::new);
  }

  /** Returns one more than the highest number of a slab so far. */
  int size() {
    return latest().slabs.length;
  }

  int numberOf(int block) {
    return block >>> indexBits;
  }

  /** Returns the slab of a block that exists. */
  Slab slabOf(int block) {
    return Objects.requireNonNull(version.slabs[numberOf(block)]);
  }

  int indexOf(int block) {
    return block & (1 << indexBits) - 1;
  }

  int firstBlockOf(int slabNumber) {
    return slabNumber << indexBits;
  }

  /** Returns the slab of a number that may be anything, null when there is no such block. */
  @Nullable Slab find(int block) {
    @Nullable Slab[] now = version.slabs;
    int number = numberOf(block);
    Slab slab = number < now.length ? now[number] : null;
    return slab != null && indexOf(block) < slab.blocks() ? slab : null;
  }
}
