package io.rdma4j.pool.internal;

import static org.junit.jupiter.api.Assertions.assertThrows;

import org.jetbrains.lincheck.LincheckAssertionError;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Model checking: a block moves between two lists, and in no interleaving that Lincheck tries does
 * a search say that none is free.
 */
@Timeout(120)
class TransfersModelTest {
  @Test
  void aSearchNoticesMoves() {
    options().check(Announced.class);
  }

  @Test
  void aSearchMissesMovesThatNobodyAnnounces() {
    assertThrows(LincheckAssertionError.class, () -> options().check(Unannounced.class));
  }

  private static ModelCheckingOptions options() {
    return new ModelCheckingOptions()
        .threads(2)
        .actorsPerThread(2)
        .actorsBefore(0)
        .actorsAfter(0)
        .iterations(10)
        .invocationsPerIteration(500)
        .sequentialSpecification(AlwaysFree.class);
  }

  private static final class TwoLists {
    private final BlockLinks links = new BlockLinks(1);
    private final SharedList one = new SharedList(links);
    private final SharedList other = new SharedList(links);

    TwoLists() {
      links.addSlab(0, 1);
      links.setNext(0, BlockLinks.NONE);
      links.setCount(0, 1);
      one.push(0);
    }

    /** Moves the block, if nobody else does, to the list that it is not in. */
    void move() {
      int block = one.pop();
      SharedList to = other;
      if (block == BlockLinks.NONE) {
        block = other.pop();
        to = one;
      }
      if (block != BlockLinks.NONE) {
        to.push(block);
      }
    }

    boolean isFound() {
      return !one.isEmpty() || !other.isEmpty();
    }
  }

  /** As it is. */
  public static class Announced {
    private final TwoLists lists = new TwoLists();
    private final Transfers transfers = new Transfers();

    @Operation
    public void move() {
      transfers.begin();
      lists.move();
      transfers.end();
    }

    /** Returns true when a block was found, or may have been missed. */
    @Operation
    public boolean search() {
      long mark = transfers.mark();
      return lists.isFound() || !transfers.isQuietSince(mark);
    }
  }

  /** Broken. */
  public static class Unannounced {
    private final TwoLists lists = new TwoLists();

    @Operation
    public void move() {
      lists.move();
    }

    @Operation
    public boolean search() {
      return lists.isFound();
    }
  }

  /** What it should be like. */
  public static class AlwaysFree {
    public void move() {}

    public boolean search() {
      return true;
    }
  }
}
