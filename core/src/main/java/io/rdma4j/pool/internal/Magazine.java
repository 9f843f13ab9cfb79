package io.rdma4j.pool.internal;

import static io.rdma4j.pool.internal.BlockStates.SHIFT;
import static io.rdma4j.pool.internal.BlockStates.WORD;

import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * One platform thread's free blocks of one class: the fast path, without any atomic operation.
 *
 * <p>An operation counts by one store, that of the block's state through a view that can be revoked
 * (see {@link ThreadCache}). Everything else is plain and the owner's alone: stores that come after
 * a revocation change nothing that anybody reads, since the owner looks up what is left when it
 * opens the cache again.
 */
public final class Magazine extends BlockCache {
  /** No state looks like this; as what is held, it lets nothing be released with plain stores. */
  static final long SHARED = -1;

  private static final int[] EMPTY = {};
  private static final int KEPT_SAMPLES = 32;
  private static final VarHandle STATE_WORD;
  private static final VarHandle SAMPLED;

  static {
    try {
      STATE_WORD = MethodHandles.lookup().findVarHandle(Magazine.class, "word", long.class);
      SAMPLED = MethodHandles.lookup().findVarHandle(Magazine.class, "sampled", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final ThreadCache cache;
  private final long ownerId;
  private final SizeClassPool pool;
  private final BlockStates states;

  /** The handles that the blocks will be leased by, so that a lease need not look at the state. */
  private final long[] stack;

  private final long sampleMask;

  /** The latest samples, and how many there have been; a ring, so that a sample calls nothing. */
  private final long[] samplesNs;

  private int sampled;

  /** The samples that were looked at. */
  private int samplesSeen;

  /** The owner's way to the states. */
  private MemorySegment view;

  private long word;
  private int limit;

  /** State of a block that the cache leases now, but for the generation. */
  private long leasedNow;

  /** States of blocks that the owner leased and may release by itself, but for the generation. */
  private long held = SHARED;

  /** The blocks that the cache held when it was revoked, null while it is not. */
  private volatile int @Nullable [] found;

  /** Whether they have been taken away since. */
  private volatile boolean emptied;

  Magazine(ThreadCache cache, long ownerId, SizeClassPool pool, BlockStates states, int capacity) {
    super(pool.sizeClass());
    this.cache = cache;
    this.ownerId = ownerId;
    this.pool = pool;
    this.states = states;
    // One place more, for the release that finds the cache full.
    this.stack = new long[capacity + 1];
    this.limit = capacity;
    this.sampleMask = pool.allocationTimes().sampleMask();
    this.samplesNs = new long[pool.allocationTimes().areTaken() ? KEPT_SAMPLES : 0];
    this.view = states.table();
  }

  /**
   * Returns true when the calling thread may use this magazine and its blocks are of that class.
   */
  public boolean serves(Thread thread, int sizeClass) {
    return thread.threadId() == ownerId && sizeClass == sizeClass();
  }

  /** Returns true when the calling thread may use this magazine. */
  public boolean isOwnedBy(Thread thread) {
    return thread.threadId() == ownerId;
  }

  /** Returns the cache that this is a part of. */
  ThreadCache cache() {
    return cache;
  }

  /**
   * As {@link #take}, timed now and then. The sample stays here: a call on the way, to whatever
   * collects it, would cost every allocation of a tight loop, since the compiler then has to load
   * everything anew in each round.
   */
  public long takeSampled() {
    long startNs = 0;
    if (AllocationTimes.isAtSample(word, sampleMask)) {
      startNs = System.nanoTime();
    }
    long handle = take();
    if (startNs != 0 && handle != BlockHandle.NONE) {
      samplesNs[sampled++ & KEPT_SAMPLES - 1] = System.nanoTime() - startNs;
    }
    return handle;
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
  public long take() {
    long word = this.word;
    int top = count(word) - 1;
    if (top < 0) {
      return BlockHandle.NONE;
    }
    long handle = stack[top];
    int block = BlockHandle.block(handle);
    long leased = leasedNow | BlockHandle.generation(handle);
    try {
      view.set(WORD, (long) block << SHIFT, leased);
    } catch (IllegalStateException e) {
      if (!cache.isInterrupted(e) || states.get(block) != leased) {
        return BlockHandle.NONE;
      }
    }
    this.word = word + TAKE;
    return handle;
  }

  /**
   * Releases a block that this thread leased, if it may do so by itself and there is room.
   *
   * @return false when not; nothing has happened then
   */
  public boolean give(long handle) {
    return give(handle, limit);
  }

  private boolean give(long handle, int limit) {
    int block = BlockHandle.block(handle);
    long held = this.held | BlockHandle.generation(handle);
    long word = this.word;
    int count = count(word);
    boolean storing = false;
    try {
      MemorySegment view = this.view;
      if (view.get(WORD, (long) block << SHIFT) != held || count >= limit) {
        return false;
      }
      stack[count] = BlockHandle.next(handle);
      storing = true;
      view.set(WORD, (long) block << SHIFT, BlockState.released(held));
    } catch (IllegalStateException e) {
      if (!cache.isInterrupted(e) || !storing || !wasFound(block)) {
        return false;
      }
    } catch (IndexOutOfBoundsException e) {
      // No block has such a number; the slow path says so.
      return false;
    }
    this.word = word + KEEP;
    return true;
  }

  /** As {@link #give(long)}, also when the cache is full; the caller drains it. */
  boolean giveBeyondLimit(long handle) {
    return give(handle, stack.length);
  }

  /** Returns true when the owner leased a block in that state and may release it by itself. */
  boolean isHolderOf(long state) {
    int holder = BlockState.holder(state);
    return Holders.isOdd(holder) && holder == cache.identity();
  }

  /** Makes room when over the limit. */
  void relieve() {
    if (count(word) > limit) {
      pool.relieve(this);
    }
  }

  @Override
  boolean keep(int block) {
    long word = this.word;
    int count = count(word);
    if (count >= limit) {
      return false;
    }
    boolean storing = false;
    try {
      MemorySegment view = this.view;
      long state = view.get(WORD, (long) block << SHIFT);
      stack[count] = nextHandle(block, state);
      storing = true;
      view.set(WORD, (long) block << SHIFT, BlockState.withHolder(state, cache.identity()));
    } catch (IllegalStateException e) {
      if (!cache.isInterrupted(e) || !storing || !wasFound(block)) {
        return false;
      }
    }
    this.word = word + KEEP;
    return true;
  }

  /**
   * Returns true when the store of an interrupted operation took effect. Meaningful only if the
   * view was in force when the operation began: what was found belongs to the revocation that came
   * since.
   */
  private boolean wasFound(int block) {
    int[] blocks = found;
    return blocks != null && indexOf(blocks, blocks.length, block) >= 0;
  }

  private static int indexOf(int[] blocks, int count, int block) {
    for (int i = 0; i < count; i++) {
      if (blocks[i] == block) {
        return i;
      }
    }
    return -1;
  }

  @Override
  boolean reopen() {
    return cache.reopen();
  }

  @Override
  int fill(int chain, int blocks) {
    synchronized (cache) {
      return cache.open() ? fillLocked(chain, blocks) : chain;
    }
  }

  private int fillLocked(int chain, int blocks) {
    limit = pool.cacheLimit();
    long word = this.word;
    int count = count(word);
    int full = Math.min(limit, count + blocks);
    int filled = -count;
    int block = chain;
    while (count < full && block != NONE) {
      long state = states.get(block);
      states.set(block, BlockState.withHolder(state, cache.identity()));
      stack[count++] = nextHandle(block, state);
      block = pool.links().next(block);
    }
    filled += count;
    countFilled(filled);
    setWord(word + filled);
    return block;
  }

  private static long nextHandle(int block, long freeState) {
    return BlockHandle.of(block, BlockState.leased(freeState));
  }

  @Override
  int drain(int kept) {
    synchronized (cache) {
      return cache.open() ? drainLocked(kept) : NONE;
    }
  }

  private int drainLocked(int kept) {
    long word = this.word;
    int count = count(word);
    int drained = Math.max(0, count - kept);
    int batch = chain(blocks(drained), drained);
    System.arraycopy(stack, drained, stack, 0, count - drained);
    countFilled(-drained);
    setWord(word - drained);
    return batch;
  }

  private int[] blocks(int count) {
    int[] blocks = new int[count];
    for (int i = 0; i < count; i++) {
      blocks[i] = BlockHandle.block(stack[i]);
    }
    return blocks;
  }

  /** Makes a batch of the first blocks of an array, which are nobody's in particular then. */
  private int chain(int[] blocks, int count) {
    int batch = NONE;
    for (int i = 0; i < count; i++) {
      int block = blocks[i];
      states.set(block, BlockState.withHolder(states.get(block), Holders.NOBODY));
      pool.links().setNext(block, batch);
      batch = block;
    }
    if (batch != NONE) {
      pool.links().setCount(batch, count);
    }
    return batch;
  }

  @Override
  int takeAll() {
    synchronized (cache) {
      if (count() == 0) {
        return NONE;
      }
      cache.revoke();
      return takeFound();
    }
  }

  private int takeFound() {
    int[] blocks = found;
    if (blocks == null || emptied) {
      return NONE;
    }
    emptied = true;
    countFilled(-blocks.length);
    return chain(blocks, blocks.length);
  }

  /**
   * Finds out what the owner held when it was stopped: between the store that counts and that of
   * the word, the word is one too high or too low.
   */
  void collect() {
    int count = count((long) STATE_WORD.getOpaque(this));
    int[] blocks = new int[Math.min(count + 1, stack.length)];
    int kept = 0;
    for (int i = 0; i < blocks.length; i++) {
      int block = BlockHandle.block(stack[i]);
      // The place above the top may hold what was kept last, or a rest of earlier days.
      if (isKept(block) && (i < count || indexOf(blocks, kept, block) < 0)) {
        blocks[kept++] = block;
      }
    }
    emptied = false;
    found = kept == 0 ? EMPTY : Arrays.copyOf(blocks, kept);
  }

  private boolean isKept(int block) {
    long state = states.get(block);
    return !BlockState.isLeased(state)
        && BlockState.holder(state) == cache.identity()
        && BlockState.sizeClass(state) == sizeClass();
  }

  /** Gives the owner what is left, through a view in force again. */
  void restore(MemorySegment view) {
    int[] blocks = found;
    int count = 0;
    if (blocks != null && !emptied) {
      count = blocks.length;
      for (int i = 0; i < count; i++) {
        stack[i] = nextHandle(blocks[i], states.get(blocks[i]));
      }
    }
    found = null;
    setWord((word & ~(long) MOST_BLOCKS) | count);
    this.view = view;
    limit = pool.cacheLimit();
  }

  /** Writes a new identity into the states of all blocks kept, and what to release plainly. */
  void changeHolder(int identity) {
    int[] revoked = found;
    int[] blocks = revoked == null ? blocks(count(word)) : emptied ? EMPTY : revoked;
    for (int block : blocks) {
      states.set(block, BlockState.withHolder(states.get(block), identity));
    }
    leasedNow = BlockState.of(identity, sizeClass());
    held = Holders.isOdd(identity) ? leasedNow : SHARED;
  }

  @Override
  long word() {
    int[] blocks = found;
    long word = (long) STATE_WORD.getOpaque(this);
    if (blocks == null) {
      return word;
    }
    return (word & ~(long) MOST_BLOCKS) | (emptied ? 0 : blocks.length);
  }

  private void setWord(long word) {
    STATE_WORD.setOpaque(this, word);
  }
}
