package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.transport.LargeTransferException.Cause;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/**
 * A large message under way, as either end sees it. It ends once at each end: done, or with a
 * {@link Cause}. Until then its memory belongs to it.
 *
 * <p>Safe for use by several threads.
 */
public abstract sealed class LargeTransfer permits LargeSend, LargeReceive {
  /** The longest there is: 1 TiB. */
  public static final long MAX_BYTES = 1L << 40;

  private static final Logger LOG = System.getLogger(LargeTransfer.class.getName());

  /** Never started; stands for the polling thread, whichever that is. */
  private static final Thread SOMEBODY_ELSE = Thread.ofPlatform().unstarted(() -> {});

  private final Connection connection;
  private final long id;
  private final long tag;
  private final long lengthBytes;
  private final CountDownLatch end = new CountDownLatch(1);

  /** Guarded by this. */
  private @Nullable LargeHandler handler;

  /** Guarded by this. */
  private boolean ended;

  private volatile @Nullable String cancelReason;

  /** Written by the polling thread. */
  private volatile long transferredBytes;

  // Written by the polling thread, before the latch is down.
  private @Nullable Cause cause;
  private String message = "";

  LargeTransfer(
      Connection connection, long id, long tag, long lengthBytes, @Nullable LargeHandler handler) {
    this.connection = connection;
    this.id = id;
    this.tag = tag;
    this.lengthBytes = lengthBytes;
    this.handler = handler;
  }

  /** Returns the connection it goes over. */
  public Connection connection() {
    return connection;
  }

  /** Returns what the sender's application says of it. */
  public long tag() {
    return tag;
  }

  /** Returns its length. */
  public long lengthBytes() {
    return lengthBytes;
  }

  /** Returns how much of it, from its start, is in the receiver's target, as far as known here. */
  public long transferredBytes() {
    return transferredBytes;
  }

  /** Returns true when it has ended. */
  public boolean isDone() {
    return end.getCount() == 0;
  }

  /**
   * Asks for its end, which comes with CANCELLED here and PEER_CANCELLED there when it is not done
   * before, at once or when the device has let go of the memory.
   *
   * @param reason for the other side, of which up to 512 bytes travel
   */
  public void cancel(String reason) {
    if (cancelReason == null) {
      cancelReason = reason;
    }
    connection.poller().wakeUp();
  }

  /**
   * Waits for its end. On a node without pollers of its own the caller polls while it waits.
   *
   * @throws LargeTransferException when it failed
   * @throws Rdma4jException when interrupted; it goes on
   * @throws IllegalStateException in a handler, which would wait for its own poller
   */
  public void await() {
    connection.room().requireMayWait();
    try {
      while (end.getCount() > 0) {
        if (!connection.room().poll()) {
          end.await();
        } else if (Thread.interrupted()) {
          throw new InterruptedException();
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new Rdma4jException("interrupted while waiting for the end of " + this, e);
    }
    Cause failed = cause;
    if (failed != null) {
      throw new LargeTransferException(failed, message);
    }
  }

  final long id() {
    return id;
  }

  final @Nullable String cancelReason() {
    return cancelReason;
  }

  /** Sets who hears the end; at once when it has come. */
  final void handler(@Nullable LargeHandler told) {
    synchronized (this) {
      handler = told;
      if (!ended) {
        return;
      }
    }
    tell(told);
  }

  final void transferred(long bytes) {
    transferredBytes = bytes;
  }

  /** Ends it; the polling thread, once. */
  final void finish(@Nullable Cause failed, String text) {
    cause = failed;
    message = text;
    LargeHandler told;
    synchronized (this) {
      ended = true;
      told = handler;
    }
    end.countDown();
    tell(told);
  }

  private void tell(@Nullable LargeHandler told) {
    if (told == null) {
      return;
    }
    Cause failed = cause;
    try {
      if (failed == null) {
        told.onDone(this);
      } else {
        told.onFailure(this, failed, message);
      }
    } catch (RuntimeException e) {
      LOG.log(Level.ERROR, "the handler of " + this + " threw", e);
    }
  }

  static void requireUsable(MemorySegment memory) {
    if (!memory.isNative() || !memory.isAccessibleBy(SOMEBODY_ELSE)) {
      throw new IllegalArgumentException(
          "a large message needs native memory that polling threads can access, not " + memory);
    }
  }

  @Override
  public String toString() {
    return "large message %d of %d bytes, tag %d, of which %d have arrived"
        .formatted(id, lengthBytes, tag, transferredBytes);
  }
}
