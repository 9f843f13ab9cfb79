package io.rdma4j.testkit.simulation;

import io.rdma4j.testkit.verbs.Waiting;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Runs code that blocks, each piece on a thread of its own but only one of them at a time. Where a
 * piece waits, the turn goes to another one that can go on, drawn from the seed; when nobody can,
 * the clock moves to the next deadline.
 *
 * <p>Used by one thread, which waits in {@link #run} while the pieces run.
 */
public final class Turns implements Waiting {
  private final RandomGenerator random;
  private final SimulatedClock clock;
  private final Semaphore back = new Semaphore(0);
  private @Nullable Piece running;

  /** Creates turns drawn from {@code random}. */
  public Turns(RandomGenerator random, SimulatedClock clock) {
    this.random = random;
    this.clock = clock;
  }

  private static final class Piece {
    private final Semaphore turn = new Semaphore(0);
    private BooleanSupplier happened = () -> true;
    private long deadlineNs;
    private boolean done;
    private @Nullable Throwable failure;
  }

  /**
   * Runs the pieces to their ends.
   *
   * @throws AssertionError when a piece let an exception through
   */
  public void run(Runnable... pieces) {
    List<Piece> all = new ArrayList<>();
    for (Runnable body : pieces) {
      Piece piece = new Piece();
      piece.deadlineNs = clock.nowNs();
      all.add(piece);
      Thread.ofVirtual().name("piece-" + all.size()).start(() -> live(piece, body));
    }
    // Giving turns is a virtual thread's work as well: a turn then wakes no thread of the system.
    Piece giver = new Piece();
    Thread.ofVirtual().name("turns").start(() -> give(giver, all));
    giver.turn.acquireUninterruptibly();
    all.add(giver);
    for (Piece piece : all) {
      if (piece.failure != null) {
        throw new AssertionError("a piece of a simulation failed", piece.failure);
      }
    }
  }

  private void give(Piece giver, List<Piece> all) {
    try {
      for (List<Piece> left = left(all); !left.isEmpty(); left = left(all)) {
        Piece next = next(left);
        running = next;
        next.turn.release();
        back.acquireUninterruptibly();
        running = null;
      }
    } catch (RuntimeException | Error e) {
      giver.failure = e;
    } finally {
      giver.turn.release();
    }
  }

  private static List<Piece> left(List<Piece> all) {
    return all.stream().filter(piece -> !piece.done).toList();
  }

  private Piece next(List<Piece> left) {
    List<Piece> ready = ready(left);
    if (ready.isEmpty()) {
      long nowNs = clock.nowNs();
      clock.advance(left.stream().mapToLong(p -> p.deadlineNs - nowNs).min().orElseThrow());
      ready = ready(left);
    }
    return ready.get(random.nextInt(ready.size()));
  }

  private List<Piece> ready(List<Piece> left) {
    long nowNs = clock.nowNs();
    return left.stream()
        .filter(piece -> piece.happened.getAsBoolean() || piece.deadlineNs - nowNs <= 0)
        .toList();
  }

  private void live(Piece piece, Runnable body) {
    piece.turn.acquireUninterruptibly();
    try {
      body.run();
    } catch (RuntimeException | Error e) {
      piece.failure = e;
    } finally {
      piece.done = true;
      back.release();
    }
  }

  /** Waits by giving the turn away; outside of {@link #run} it can only look. */
  @Override
  public boolean await(BooleanSupplier happened, long timeoutNs) {
    Piece piece = running;
    if (piece == null) {
      if (timeoutNs > 0 && !happened.getAsBoolean()) {
        throw new AssertionError("the only thread of the simulation would wait");
      }
      return happened.getAsBoolean();
    }
    piece.happened = happened;
    piece.deadlineNs = clock.nowNs() + timeoutNs;
    back.release();
    piece.turn.acquireUninterruptibly();
    return happened.getAsBoolean();
  }
}
