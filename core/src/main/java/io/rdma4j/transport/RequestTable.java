package io.rdma4j.transport;

import io.rdma4j.SendResult;
import io.rdma4j.transport.RequestFailedException.Cause;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The requests of a connection that wait for their reply: as many slots as the window allows. Each
 * request ends exactly once, by whoever moves its slot's state out of PENDING.
 *
 * <pre>
 *  request id    63 .. 61 = 0   60 .. 16  use of the slot   15 .. 0  slot
 *
 *  state of a slot: request id * 4 + one of           moved by
 *    PENDING             waits                        open; poller after a part
 *    BUSY                a part is being delivered,   poller, or open
 *                        or a device has its target
 *    BUSY, given up      to be ended after that       whoever cancels or finds the deadline passed
 *  0                     nobody's, or being ended     whoever ends it
 * </pre>
 *
 * A free slot is on a stack whose head carries a tag, so that a slot which was taken and came back
 * meanwhile is noticed. The fields of a slot are written before its state is, with release order,
 * and read after that was seen. A request id never comes again, so a reply after its request has
 * ended finds no slot, and can not reach the next request.
 *
 * <p>Safe for use by several threads; parts are delivered by the polling thread. Makes no garbage.
 */
final class RequestTable {
  private static final Logger LOG = System.getLogger(RequestTable.class.getName());

  private static final int SLOT_BITS = 16;
  static final int MAX_SLOTS = 1 << SLOT_BITS;

  /** An id and two bits make a state. */
  private static final long ID_LIMIT = 1L << 61;

  private static final int PENDING = 0;
  private static final int BUSY = 1;
  private static final int BUSY_CANCELLED = 2;
  private static final int BUSY_DEADLINE = 3;
  private static final int FLAGS = 3;

  private static final int NO_SLOT = -1;
  private static final VarHandle STATE = MethodHandles.arrayElementVarHandle(long[].class);

  private final long[] states;
  private final long[] uses;
  private final long[] deadlines;
  private final long[] contexts;
  private final @Nullable ReplyHandler[] handlers;
  private final int[] nextFree;

  /** Tag in the upper half, top slot in the lower one. */
  private final AtomicLong freeHead = new AtomicLong();

  /** When the request of a slot was opened, for those that are timed. */
  private final long[] startsNs;

  private final RequestTimes times;

  RequestTable(int slots, RequestTimes times) {
    this.times = times;
    startsNs = new long[slots];
    states = new long[slots];
    uses = new long[slots];
    deadlines = new long[slots];
    contexts = new long[slots];
    handlers = new ReplyHandler[slots];
    nextFree = new int[slots];
    Arrays.setAll(nextFree, i -> i + 1 < slots ? i + 1 : NO_SLOT);
  }

  /**
   * Takes a slot for a request that is about to be sent.
   *
   * @return the request id, or {@link SendResult#WINDOW_FULL}
   */
  long open(long deadlineNs, long context, ReplyHandler handler) {
    return open(deadlineNs, context, handler, false);
  }

  /**
   * As {@link #open(long, long, ReplyHandler)}.
   *
   * @param held whether one that is given up ends only with {@link #unhold}, because a device may
   *     still write where its answer goes
   */
  long open(long deadlineNs, long context, ReplyHandler handler, boolean held) {
    int slot = pop();
    if (slot == NO_SLOT) {
      return SendResult.WINDOW_FULL;
    }
    long use = ++uses[slot];
    long id = use << SLOT_BITS | slot;
    if (RequestTimes.isTimed(use)) {
      startsNs[slot] = times.startNs();
    }
    deadlines[slot] = deadlineNs;
    contexts[slot] = context;
    handlers[slot] = handler;
    STATE.setRelease(states, slot, id << 2 | (held ? BUSY : PENDING));
    return id;
  }

  /**
   * Takes back a request that was not sent; its handler hears nothing.
   *
   * @return false when it has ended meanwhile, and its handler has heard of that
   */
  boolean withdraw(long id) {
    int slot = claim(id, PENDING);
    if (slot == NO_SLOT && (slot = claim(id, BUSY)) == NO_SLOT) {
      return unhold(id) && withdraw(id);
    }
    release(slot);
    return true;
  }

  /**
   * Lets a held request wait like any other. One that was given up meanwhile ends now.
   *
   * @return false when it has ended
   */
  boolean unhold(long id) {
    int slot = slotOf(id);
    if (slot == NO_SLOT) {
      return false;
    }
    return STATE.compareAndSet(states, slot, id << 2 | BUSY, id << 2) || endGivenUp(slot, id);
  }

  /** Ends a busy request that was given up; returns false always. */
  private boolean endGivenUp(int slot, long id) {
    long state = (long) STATE.getAcquire(states, slot);
    if (state >>> 2 == id && (state & FLAGS) > BUSY && claim(id, (int) state & FLAGS) != NO_SLOT) {
      Cause cause = (state & FLAGS) == BUSY_DEADLINE ? Cause.DEADLINE : Cause.CANCELLED;
      tell(slot, cause, textOf(cause));
    }
    return false;
  }

  /** Returns whether a request waits for its reply. */
  boolean isWaiting(long id) {
    int slot = slotOf(id);
    return slot != NO_SLOT && (long) STATE.getAcquire(states, slot) == id << 2;
  }

  /** Ends a request with its reply; false when it has ended already. Polling thread. */
  boolean complete(long id, Message reply) {
    int slot = claim(id, PENDING);
    if (slot == NO_SLOT) {
      return false;
    }
    if (RequestTimes.isTimed(id >>> SLOT_BITS)) {
      times.replied(startsNs[slot]);
    }
    ReplyHandler handler = handler(slot);
    long context = contexts[slot];
    release(slot);
    try {
      handler.onReply(context, reply);
    } catch (RuntimeException e) {
      threw(handler, e);
    }
    return true;
  }

  /** Delivers a part; false when nobody waits for it. Polling thread. */
  boolean deliver(long id, Message part) {
    int slot = slotOf(id);
    if (slot == NO_SLOT || !STATE.compareAndSet(states, slot, id << 2, id << 2 | BUSY)) {
      return false;
    }
    ReplyHandler handler = handler(slot);
    boolean streams = handler instanceof StreamHandler;
    try {
      if (handler instanceof StreamHandler stream) {
        stream.onPart(contexts[slot], id, part);
      }
    } catch (RuntimeException e) {
      threw(handler, e);
    }
    if (!STATE.compareAndSet(states, slot, id << 2 | BUSY, id << 2)) {
      endGivenUp(slot, id);
    }
    return streams;
  }

  /** Ends a request with a failure; false when it has ended already, or will at once. */
  boolean fail(long id, Cause cause, String message) {
    int slot = claim(id, PENDING);
    if (slot == NO_SLOT) {
      return false;
    }
    tell(slot, cause, message);
    return true;
  }

  /**
   * Gives a request up. One that is having a part delivered is ended by the polling thread right
   * after that.
   *
   * @param cause DEADLINE or CANCELLED
   * @return false when it has ended already
   */
  boolean giveUp(long id, Cause cause) {
    int slot = slotOf(id);
    if (slot == NO_SLOT) {
      return false;
    }
    int mark = cause == Cause.DEADLINE ? BUSY_DEADLINE : BUSY_CANCELLED;
    while (true) {
      if (fail(id, cause, textOf(cause))) {
        return true;
      }
      if (STATE.compareAndSet(states, slot, id << 2 | BUSY, id << 2 | mark)) {
        return true;
      }
      long state = (long) STATE.getAcquire(states, slot);
      if (state != id << 2 && state != (id << 2 | BUSY)) {
        return false;
      }
    }
  }

  /** Tells how each request that waits longer than it may has ended. */
  void expire(long nowNs, Expired expired) {
    for (int slot = 0; slot < states.length; slot++) {
      long state = (long) STATE.getAcquire(states, slot);
      if (state != 0 && nowNs - deadlines[slot] >= 0) {
        // Were the slot taken anew since, its id would be another, and nothing would happen.
        long id = state >>> 2;
        if (giveUp(id, Cause.DEADLINE)) {
          expired.onExpired(id);
        }
      }
    }
  }

  /** Hears of requests whose deadline has passed. */
  @FunctionalInterface
  interface Expired {
    void onExpired(long id);
  }

  /** Ends all requests: the connection has ended, and no other will be sent. */
  void failAll(String reason) {
    for (int slot = 0; slot < states.length; slot++) {
      long state = (long) STATE.getAcquire(states, slot);
      if (state != 0) {
        fail(
            state >>> 2,
            Cause.DISCONNECTED,
            "the connection ended before the reply came: " + reason);
      }
    }
  }

  /** Returns how many wait. */
  int size() {
    int size = 0;
    for (int slot = 0; slot < states.length; slot++) {
      if ((long) STATE.getAcquire(states, slot) != 0) {
        size++;
      }
    }
    return size;
  }

  boolean isFull() {
    return (int) freeHead.get() == NO_SLOT;
  }

  static String textOf(Cause cause) {
    return cause == Cause.DEADLINE
        ? "no reply before the deadline; the peer may still have handled the request"
        : "this side gave the request up; the peer may still have handled it";
  }

  private void tell(int slot, Cause cause, String message) {
    times.failed(cause);
    ReplyHandler handler = handler(slot);
    long context = contexts[slot];
    release(slot);
    try {
      handler.onFailure(context, cause, message);
    } catch (RuntimeException e) {
      threw(handler, e);
    }
  }

  private static void threw(ReplyHandler handler, RuntimeException e) {
    LOG.log(Level.ERROR, "the handler of a request threw: " + handler, e);
  }

  private ReplyHandler handler(int slot) {
    ReplyHandler handler = handlers[slot];
    if (handler == null) {
      throw new IllegalStateException("slot " + slot + " is in use without a handler");
    }
    return handler;
  }

  /** Returns the slot in an id, also of another table; below {@link #MAX_SLOTS}. */
  static int slot(long id) {
    return (int) id & (MAX_SLOTS - 1);
  }

  /** Returns the slot of an id, which a peer may have made up. */
  private int slotOf(long id) {
    int slot = slot(id);
    // Beyond the limit, two ids would share a state.
    return id > 0 && id < ID_LIMIT && slot < states.length ? slot : NO_SLOT;
  }

  /** Makes the caller the one who ends a request. */
  private int claim(long id, int flags) {
    int slot = slotOf(id);
    return slot != NO_SLOT && STATE.compareAndSet(states, slot, id << 2 | flags, 0L)
        ? slot
        : NO_SLOT;
  }

  private int pop() {
    while (true) {
      long head = freeHead.get();
      int slot = (int) head;
      if (slot == NO_SLOT) {
        return NO_SLOT;
      }
      // Of a slot that somebody else has taken by now, this is any value; the tag tells.
      int next = nextFree[slot];
      if (freeHead.compareAndSet(head, tagged(head, next))) {
        return slot;
      }
    }
  }

  private void release(int slot) {
    handlers[slot] = null;
    while (true) {
      long head = freeHead.get();
      nextFree[slot] = (int) head;
      if (freeHead.compareAndSet(head, tagged(head, slot))) {
        return;
      }
    }
  }

  private static long tagged(long head, int slot) {
    return ((head >>> 32) + 1) << 32 | (slot & 0xffff_ffffL);
  }
}
