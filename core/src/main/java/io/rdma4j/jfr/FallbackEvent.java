package io.rdma4j.jfr;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;

/** An allocation found no free block, and memory was registered for it alone. */
@Name("rdma4j.AllocationFallback")
@Label("Allocation Fallback")
@Category("RDMA")
@Description("An allocation found no free block, and memory was registered for it alone")
@SuppressWarnings("UnusedVariable") // the flight recorder reads them
public final class FallbackEvent extends Event {
  private static final FallbackEvent FLAG = new FallbackEvent();

  @Label("Block Size")
  @DataAmount
  private int blockBytes;

  private FallbackEvent() {}

  /** Records a fallback, if somebody asks for it. */
  public static void record(int blockBytes) {
    if (FLAG.isEnabled()) {
      FallbackEvent event = new FallbackEvent();
      event.blockBytes = blockBytes;
      event.commit();
    }
  }
}
