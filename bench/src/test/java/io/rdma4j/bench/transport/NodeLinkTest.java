package io.rdma4j.bench.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.rdma4j.Availability;
import java.io.IOException;
import java.net.InetAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The library's way, both ends in this process. */
@Timeout(120)
class NodeLinkTest {
  @Test
  void readsAndRoundTripsTakeTurns() throws Exception {
    NodeWay way =
        NodeWay.of("tcp", InetAddress.getLoopbackAddress(), Availability.usable("sockets"));
    Way.Acceptor acceptor = way.listen();
    CompletableFuture<Long> served =
        CompletableFuture.supplyAsync(() -> serveOnce(acceptor), task -> new Thread(task).start());
    Histogram readNs = new Histogram(3);
    try (Link link = way.connect(acceptor.address())) {
      Loop loop = LinkCopy.of(Loop.class, LinkLoop.class, link);
      Task.read(64).runTimed(loop, 20, readNs);
      Task.roundTrip(64).run(loop, 20);
      Task.read(64).run(loop, 20);
      loop.stop();
      assertEquals(21, served.get(60, TimeUnit.SECONDS), "messages at the peer");
    }
    assertEquals(20, readNs.getTotalCount());
  }

  private static long serveOnce(Way.Acceptor acceptor) {
    try (Link link = acceptor.accept()) {
      LinkCopy.of(Serving.class, ServingLoop.class, link).serve();
      assertThrows(IOException.class, () -> link.read(64), "this end has nothing to read from");
      return link.receivedCount();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
