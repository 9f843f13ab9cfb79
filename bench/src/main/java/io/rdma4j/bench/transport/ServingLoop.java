package io.rdma4j.bench.transport;

import java.io.IOException;
import java.lang.invoke.MethodHandles;

/** What the peer does with a link: answers until it is told to stop; copied for each. */
final class ServingLoop implements Serving {
  private static final Link LINK = LinkCopy.link(MethodHandles.lookup());

  ServingLoop() {}

  @Override
  public void serve() throws IOException {
    while (!LINK.takeStop()) {
      if (LINK.poll() == 0) {
        Thread.onSpinWait();
      } else {
        LINK.settle();
        LINK.flush();
      }
    }
  }
}
