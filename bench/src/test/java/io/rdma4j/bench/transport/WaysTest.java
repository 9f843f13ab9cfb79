package io.rdma4j.bench.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Each way that can be used here, with both ends in this process. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
class WaysTest {
  private static final int TRIPS = 50;

  static Stream<Way> all() {
    return Ways.all().values().stream();
  }

  /** A run is over once the peer was told, which has nothing more to say. */
  @ParameterizedTest
  @MethodSource("all")
  void aRunIsAnsweredAndStopped(Way way) throws IOException {
    assumeTrue(way.availability().usable(), () -> way.availability().reason());
    Far far = new Far(way);
    Thread.ofPlatform().daemon(true).name("far").start(far);
    try (Link link = way.connect(far.address.join())) {
      Loop loop = LinkCopy.of(Loop.class, LinkLoop.class, link);
      far.ready.join();
      loop.roundTrips(TRIPS, 64);
      loop.stop();
      assertEquals(TRIPS, link.receivedCount());
      assertEquals(0, link.misorderedCount());
      assertEquals(TRIPS + 1, far.served.join());
      far.release.countDown(); // each end closes while the other does
    }
    far.ended.join();
  }

  /** The end that serves, on one thread from the beginning: some ways belong to one. */
  private static final class Far implements Runnable {
    final Way way;
    final CompletableFuture<String> address = new CompletableFuture<>();
    final CompletableFuture<Boolean> ready = new CompletableFuture<>();
    final CompletableFuture<Long> served = new CompletableFuture<>();
    final CompletableFuture<Boolean> ended = new CompletableFuture<>();
    final CountDownLatch release = new CountDownLatch(1);

    Far(Way way) {
      this.way = way;
    }

    @Override
    public void run() {
      try {
        Way.Acceptor acceptor = way.listen(); // what it has made belongs to the link
        address.complete(acceptor.address());
        try (Link link = acceptor.accept()) {
          Serving serving = LinkCopy.of(Serving.class, ServingLoop.class, link);
          ready.complete(true);
          serving.serve();
          served.complete(link.receivedCount());
          release.await();
        }
        ended.complete(true);
      } catch (IOException | RuntimeException | InterruptedException e) {
        for (CompletableFuture<?> waited :
            new CompletableFuture<?>[] {address, ready, served, ended}) {
          waited.completeExceptionally(e);
        }
      }
    }
  }
}
