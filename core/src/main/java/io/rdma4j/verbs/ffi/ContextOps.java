package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

/**
 * The data path of a device context: the function pointers in its ops table, which the inline
 * functions of verbs.h call.
 *
 * <p>A critical call skips the thread's transition to native, so it must never block. Polling is
 * such a call on every device. Posting and arming are on devices whose provider rings a doorbell
 * from user space, not where it enters the kernel (rxe, siw).
 */
final class ContextOps {
  private static final MethodHandle POLL_CQ = critical(JAVA_LONG, JAVA_INT, JAVA_LONG);
  private static final MethodHandle POST = plain(JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle POST_CRITICAL = critical(JAVA_LONG, JAVA_LONG, JAVA_LONG);
  private static final MethodHandle MODIFY_CQ = plain(JAVA_LONG, JAVA_LONG);
  private static final MethodHandle REQ_NOTIFY_CQ = plain(JAVA_LONG, JAVA_INT);
  private static final MethodHandle REQ_NOTIFY_CQ_CRITICAL = critical(JAVA_LONG, JAVA_INT);

  /** Value of abi_compat in a context that is part of a struct verbs_context. */
  private static final long EXTENDED = -1;

  private final boolean postsInUserSpace;
  private final MemorySegment pollCq;
  private final MemorySegment reqNotifyCq;
  private final MemorySegment postSend;
  private final MemorySegment postRecv;
  private final MemorySegment postSrqRecv;

  /** Null pointer where the provider does not offer it. */
  private final MemorySegment modifyCq;

  /** Reads the table of a context. */
  ContextOps(MemorySegment context) {
    pollCq = context.get(ADDRESS, Layouts.CONTEXT_POLL_CQ);
    reqNotifyCq = context.get(ADDRESS, Layouts.CONTEXT_REQ_NOTIFY_CQ);
    postSend = context.get(ADDRESS, Layouts.CONTEXT_POST_SEND);
    postRecv = context.get(ADDRESS, Layouts.CONTEXT_POST_RECV);
    postSrqRecv = context.get(ADDRESS, Layouts.CONTEXT_POST_SRQ_RECV);
    modifyCq = extended(context, Layouts.MODIFY_CQ_BEFORE_CONTEXT);
    postsInUserSpace = UserSpaceProviders.contains(postSend.address());
  }

  /**
   * Returns a function of the struct verbs_context around a context, as verbs_get_ctx_op does: the
   * context says whether there is one around it, and that one how far it reaches.
   */
  @SuppressWarnings("restricted")
  private static MemorySegment extended(MemorySegment context, long bytesBefore) {
    if (context.get(JAVA_LONG, Layouts.CONTEXT_ABI_COMPAT) != EXTENDED) {
      return MemorySegment.NULL;
    }
    MemorySegment size =
        MemorySegment.ofAddress(context.address() - Layouts.SIZE_BEFORE_CONTEXT)
            .reinterpret(JAVA_LONG.byteSize());
    if (size.get(JAVA_LONG, 0) < bytesBefore + Layouts.CONTEXT_BYTES) {
      return MemorySegment.NULL;
    }
    return MemorySegment.ofAddress(context.address() - bytesBefore)
        .reinterpret(ADDRESS.byteSize())
        .get(ADDRESS, 0);
  }

  /** Returns 0 or an errno; EOPNOTSUPP where the provider does not offer it. */
  int modifyCq(long cq, long attributes) {
    if (modifyCq.address() == 0) {
      return Errno.EOPNOTSUPP;
    }
    try {
      return Math.abs((int) MODIFY_CQ.invokeExact(modifyCq, cq, attributes));
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns the completions written to {@code wc}, negative when the queue has failed. */
  int pollCq(long cq, int entries, long wc) {
    try {
      return (int) POLL_CQ.invokeExact(pollCq, cq, entries, wc);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns 0 or an errno. */
  int reqNotifyCq(long cq, int solicitedOnly) {
    try {
      return postsInUserSpace
          ? (int) REQ_NOTIFY_CQ_CRITICAL.invokeExact(reqNotifyCq, cq, solicitedOnly)
          : (int) REQ_NOTIFY_CQ.invokeExact(reqNotifyCq, cq, solicitedOnly);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  /** Returns 0 or an errno; then the address of the request refused is in {@code badWr}. */
  int postSend(long qp, long wr, long badWr) {
    return post(postSend, qp, wr, badWr);
  }

  /** Returns 0 or an errno; then the address of the request refused is in {@code badWr}. */
  int postReceive(long qp, long wr, long badWr) {
    return post(postRecv, qp, wr, badWr);
  }

  /** Returns 0 or an errno; then the address of the request refused is in {@code badWr}. */
  int postSharedReceive(long srq, long wr, long badWr) {
    return post(postSrqRecv, srq, wr, badWr);
  }

  private int post(MemorySegment function, long queue, long wr, long badWr) {
    try {
      return postsInUserSpace
          ? (int) POST_CRITICAL.invokeExact(function, queue, wr, badWr)
          : (int) POST.invokeExact(function, queue, wr, badWr);
    } catch (Throwable e) {
      throw unexpected(e);
    }
  }

  @SuppressWarnings("restricted")
  private static MethodHandle plain(MemoryLayout... parameters) {
    return Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(JAVA_INT, parameters));
  }

  @SuppressWarnings("restricted")
  private static MethodHandle critical(MemoryLayout... parameters) {
    return Linker.nativeLinker()
        .downcallHandle(FunctionDescriptor.of(JAVA_INT, parameters), Linker.Option.critical(false));
  }

  private static IllegalStateException unexpected(Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    return new IllegalStateException("a data path function cannot be called", thrown);
  }
}
