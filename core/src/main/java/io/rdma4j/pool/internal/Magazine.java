package io.rdma4j.pool.internal;

import io.rdma4j.os.LongTable;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;

/**
 * One platform thread's free blocks of one class: the fast path, without any atomic operation.
 *
 * <p>Each operation of the owner goes through these steps, and whoever stops the owner (see {@link
 * ThreadCache}) through their counterparts:
 *
 * <pre>
 *  owner                                       another thread, holding the cache's monitor
 *  word := word with BUSY                      ceiling := REVOKED, held := SHARED
 *  ceiling, or held: stopped?                  a barrier in all threads (ProcessBarrier)
 *  stack, and state of the block               wait until the word is not BUSY
 *  word := as it is now, not BUSY              stack and states are this thread's now
 * </pre>
 *
 * Either the owner sees that it is stopped, and takes the slow path; or the other thread sees that
 * it is busy, and waits for those few instructions. The owner opens the cache again under the
 * monitor. Nobody else writes the word, since the owner may have read it already.
 *
 * <p>A block that is kept has the state of its next lease already, so taking it is one store, of
 * the word. It is free again for everybody else when it leaves the magazine.
 */
public final class Magazine extends BlockCache {
  /** A ceiling that every word has reached: the owner is stopped. */
  private static final long REVOKED = Long.MIN_VALUE;

  /**
   * As what is held: it would be the tag of a class beyond the last one, so no block has a state
   * that is made of it, and nothing is released with plain stores.
   */
  private static final long SHARED = -1;

  /** Takes that the word counts before they are moved on; it has room for some more. */
  static final long MOST_TAKES = 1L << 40;

  private static final int SPINS_BEFORE_YIELD = 64;
  private static final int KEPT_SAMPLES = 32;
  private static final VarHandle WORD;
  private static final VarHandle CEILING;
  private static final VarHandle HELD;
  private static final VarHandle SAMPLED;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      WORD = lookup.findVarHandle(Magazine.class, "word", long.class);
      CEILING = lookup.findVarHandle(Magazine.class, "ceiling", long.class);
      HELD = lookup.findVarHandle(Magazine.class, "held", long.class);
      SAMPLED = lookup.findVarHandle(Magazine.class, "sampled", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final ThreadCache cache;
  private final long ownerId;
  private final SizeClassPool pool;
  private final BlockStates states;

  /** The table of states, here to be reached by one load. */
  private final int statesBase;

  private final int statesMask;
  private final int leastBytes;
  private final int spanBytes;

  /** The handles that the blocks will be leased by, so that a lease need not look at the state. */
  private long[] stack;

  private long word;

  /** The word at which the next take leaves the fast path. */
  private long ceiling = REVOKED;

  /** Tag of the blocks that the cache leases now. */
  private long leasedTag;

  /** Tag of the blocks that the owner leased and may release by itself. */
  private long held = SHARED;

  /** Whether the blocks have been taken away since the owner was stopped. */
  private volatile boolean emptied;

  /** Takes that the word no longer counts. */
  private long takesBefore;

  /** Takes, by the word, after which the next one is timed. */
  private long sampleAt;

  /** The latest samples, and how many there have been; a ring, so that a sample calls nothing. */
  private final long[] samplesNs;

  private int sampled;

  /** The samples that were looked at. */
  private int samplesSeen;

  Magazine(ThreadCache cache, long ownerId, SizeClassPool pool, BlockStates states) {
    super(pool.sizeClass());
    this.cache = cache;
    this.ownerId = ownerId;
    this.pool = pool;
    this.states = states;
    this.statesBase = states.table().base();
    this.statesMask = states.table().mask();
    this.leastBytes = pool.leastBytes();
    this.spanBytes = pool.isReserve() ? 0 : pool.blockBytes() + 1 - leastBytes;
    this.stack = new long[pool.cacheLimit()];
    this.samplesNs = new long[pool.allocationTimes().areTaken() ? KEPT_SAMPLES : 0];
    this.sampleAt = pool.allocationTimes().sampleEvery() - 1L;
  }

  /** Returns true when it is the calling thread's and has the blocks for that length. */
  public boolean serves(Thread caller, int lengthBytes) {
    return caller.threadId() == ownerId
        && Integer.compareUnsigned(lengthBytes - leastBytes, spanBytes) < 0;
  }

  /** Returns true when the calling thread may use this magazine. */
  public boolean isOwnedBy(Thread caller) {
    return caller.threadId() == ownerId;
  }

  /** Returns the cache that this is a part of. */
  ThreadCache cache() {
    return cache;
  }

  @Override
  public long take() {
    long word = this.word;
    int top = ownCount(word) - 1;
    WORD.setOpaque(this, word | BUSY);
    boolean leaves = word >= (long) CEILING.getAcquire(this);
    long[] stack = this.stack;
    if (leaves || Integer.compareUnsigned(top, stack.length) >= 0) {
      return takeSlow(word);
    }
    long handle = stack[top];
    WORD.setRelease(this, word + TAKE);
    return handle;
  }

  /** A take that finds no block, or was stopped, or is to be timed. */
  private long takeSlow(long word) {
    setWord(word);
    if (count(word) == 0 || !openForSample()) {
      return BlockHandle.NONE;
    }
    if (samplesNs.length == 0) {
      return take();
    }
    long startNs = System.nanoTime();
    long handle = take();
    if (handle != BlockHandle.NONE) {
      samplesNs[sampled++ & KEPT_SAMPLES - 1] = System.nanoTime() - startNs;
    }
    return handle;
  }

  /** Arranges for the sample after the one that is due; false when the owner was stopped. */
  private boolean openForSample() {
    synchronized (cache) {
      if (cache.isRevoked()) {
        return false;
      }
      if (word >>> TAKES_SHIFT >= MOST_TAKES) {
        takesBefore += MOST_TAKES;
        setWord(word - (MOST_TAKES << TAKES_SHIFT));
      }
      sampleAt = (word >>> TAKES_SHIFT) + pool.allocationTimes().sampleEvery();
      arm();
      return true;
    }
  }

  private void arm() {
    long limit = samplesNs.length == 0 ? MOST_TAKES : Math.min(sampleAt, MOST_TAKES);
    CEILING.setRelease(this, limit << TAKES_SHIFT);
  }

  /**
   * Releases a block that this thread leased, if it may do so by itself and there is room.
   *
   * @return false when not; nothing has happened then
   */
  public boolean give(long handle) {
    int block = BlockHandle.block(handle) & statesMask;
    long word = this.word;
    int count = ownCount(word);
    WORD.setOpaque(this, word | BUSY);
    long held = (long) HELD.getAcquire(this);
    long[] stack = this.stack;
    if (LongTable.get(statesBase, block) != (handle ^ held)
        || Integer.compareUnsigned(count, stack.length) >= 0) {
      setWord(word);
      return false;
    }
    long next = BlockHandle.next(handle);
    stack[count] = next;
    LongTable.set(statesBase, block, next ^ held);
    WORD.setRelease(this, word + KEEP);
    return true;
  }

  /**
   * Ends the lease of a block that the owner may release by itself, where {@link #give} has no room
   * or was stopped; the block is the caller's then.
   *
   * @return false when anybody may release it, or nobody
   */
  boolean endLease(long handle) {
    synchronized (cache) {
      int block = BlockHandle.block(handle);
      boolean mine =
          cache.open() && cache.isExclusive() && states.get(block) == (handle ^ leasedTag);
      if (mine) {
        states.set(block, BlockHandle.next(handle));
      }
      return mine;
    }
  }

  @Override
  boolean keep(int block) {
    long word = this.word;
    int count = ownCount(word);
    WORD.setOpaque(this, word | BUSY);
    boolean open = (long) CEILING.getAcquire(this) != REVOKED;
    long[] stack = this.stack;
    if (!open || count >= stack.length) {
      setWord(word);
      return false;
    }
    keepAt(count, block);
    WORD.setRelease(this, word + KEEP);
    return true;
  }

  /** Puts a free block into a place of the stack, and leases it ahead. */
  private void keepAt(int place, int block) {
    long handle = states.get(block);
    stack[place] = handle;
    states.set(block, handle ^ leasedTag);
  }

  @Override
  boolean reopen() {
    return cache.reopen();
  }

  @Override
  int fill(int chain, int blocks) {
    synchronized (cache) {
      return cache.open() ? fillOpen(chain, blocks) : chain;
    }
  }

  private int fillOpen(int chain, int blocks) {
    resize();
    int count = count(word);
    int full = Math.min(stack.length, count + blocks);
    int filled = -count;
    int block = chain;
    while (count < full && block != NONE) {
      keepAt(count++, block);
      block = pool.links().next(block);
    }
    filled += count;
    countFilled(filled);
    setWord(word + filled);
    return block;
  }

  /** Follows the limit, once what is kept is within it. */
  private void resize() {
    int limit = pool.cacheLimit();
    if (limit != stack.length && count(word) <= limit) {
      stack = Arrays.copyOf(stack, limit);
    }
  }

  @Override
  int drain(int kept) {
    synchronized (cache) {
      if (!cache.open()) {
        return NONE;
      }
      int count = count(word);
      int drained = Math.max(0, count - kept);
      int batch = batchOf(drained);
      System.arraycopy(stack, drained, stack, 0, count - drained);
      setWord(word - drained);
      resize();
      return batch;
    }
  }

  @Override
  int takeAll() {
    synchronized (cache) {
      int count = count();
      if (count == 0) {
        return NONE;
      }
      cache.revoke();
      count = count();
      emptied = true;
      return batchOf(count);
    }
  }

  /** Links the blocks lowest in the stack, which have been there longest. */
  private int batchOf(int count) {
    BlockLinks links = pool.links();
    int batch = NONE;
    for (int i = 0; i < count; i++) {
      int block = BlockHandle.block(stack[i]);
      states.set(block, stack[i]);
      links.setNext(block, batch);
      batch = block;
    }
    if (batch != NONE) {
      links.setCount(batch, count);
    }
    countFilled(-count);
    return batch;
  }

  /** Asks the owner to stop; in force after a barrier and {@link #awaitStop}. */
  void stop() {
    CEILING.setOpaque(this, REVOKED);
    HELD.setOpaque(this, SHARED);
  }

  /** Waits for the end of an operation that began before the owner could see that it is stopped. */
  // Yields only when the owner is off its processor, so that it gets on.
  @SuppressWarnings("ThreadPriorityCheck")
  void awaitStop() {
    for (int i = 0; ((long) WORD.getAcquire(this) & BUSY) != 0 && !cache.isOrphan(); i++) {
      if (i < SPINS_BEFORE_YIELD) {
        Thread.onSpinWait();
      } else {
        Thread.yield();
      }
    }
  }

  /** Lets the owner go on, with what is left. */
  void restart() {
    if (emptied) {
      setWord(word & ~(long) MOST_BLOCKS);
      emptied = false;
    }
    resize();
    arm();
    holdNow();
  }

  /** Notes of all blocks kept that nobody will lease them; under the monitor, the owner stopped. */
  void markFree() {
    int count = count();
    for (int i = 0; i < count; i++) {
      states.set(BlockHandle.block(stack[i]), stack[i]);
    }
  }

  /** Adds what is kept to the numbers of blocks by slab; a glance. */
  void countKept(SlabTable table, int[] bySlab) {
    long[] stack = this.stack;
    int count = cache.isShut() ? 0 : Math.min(count(), stack.length);
    for (int i = 0; i < count; i++) {
      int slab = table.numberOf(BlockHandle.block(stack[i]));
      if (slab < bySlab.length) {
        bySlab[slab]++;
      }
    }
  }

  /** Sets the tag of leases from here on. */
  void changeHolder(int identity) {
    leasedTag = BlockState.leasedTag(identity, sizeClass());
    if (!cache.isRevoked()) {
      holdNow();
    }
  }

  private void holdNow() {
    HELD.setRelease(this, cache.isExclusive() ? leasedTag : SHARED);
  }

  /** Records the samples since the last call; for one thread at a time, which may be any. */
  void recordSamples() {
    int total = (int) SAMPLED.getOpaque(this);
    long fresh = (total - samplesSeen) & 0xffff_ffffL;
    samplesSeen = total;
    long kept = Math.min(fresh, samplesNs.length);
    for (int i = 1; i <= kept; i++) {
      // Those that the ring has lost are represented by those it kept.
      long standsFor = fresh * i / kept - fresh * (i - 1) / kept;
      pool.allocationTimes().recordSample(samplesNs[total - i & samplesNs.length - 1], standsFor);
    }
  }

  @Override
  long word() {
    long word = (long) WORD.getOpaque(this) & ~BUSY;
    return emptied ? word & ~(long) MOST_BLOCKS : word;
  }

  @Override
  long takes() {
    synchronized (cache) {
      return takesBefore + super.takes();
    }
  }

  @Override
  long releases() {
    synchronized (cache) {
      return takesBefore + super.releases();
    }
  }

  /** Has the word count takes that there were not, for tests. */
  void addTakes(long takes) {
    setWord(word + (takes << TAKES_SHIFT));
  }

  /** Leaves an announcement behind, for tests. */
  void announce() {
    WORD.setRelease(this, word | BUSY);
  }

  /** Sets the word without an announcement, also one that was left behind. */
  private void setWord(long word) {
    WORD.setRelease(this, word & ~BUSY);
  }

  /**
   * Returns the blocks as the owner's operations count them: more than there can be if an operation
   * that a StackOverflowError has ended left its announcement. The next one goes the slow way then,
   * and takes it back.
   */
  private static int ownCount(long word) {
    return (int) word & (int) (BUSY | MOST_BLOCKS);
  }
}
