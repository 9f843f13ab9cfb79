package io.rdma4j.bench.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
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
    CompletableFuture<String> address = new CompletableFuture<>();
    CompletableFuture<Long> served = new CompletableFuture<>();
    CountDownLatch done = new CountDownLatch(1);
    CompletableFuture<Void> ended =
        CompletableFuture.runAsync(() -> serve(way, address, served, done), WaysTest::start);
    try (Link link = way.connect(address.join())) {
      Loop loop = LinkCopy.of(Loop.class, LinkLoop.class, link);
      loop.roundTrips(TRIPS, 64);
      loop.stop();
      assertEquals(TRIPS, link.receivedCount());
      assertEquals(0, link.misorderedCount());
      assertEquals(TRIPS + 1, served.join());
      done.countDown(); // each end closes while the other does
    }
    ended.join();
  }

  private static void start(Runnable serving) {
    Thread.ofPlatform().daemon(true).name("serving").start(serving);
  }

  /** On one thread from the beginning: some ways belong to the one that made them. */
  private static void serve(
      Way way,
      CompletableFuture<String> address,
      CompletableFuture<Long> served,
      CountDownLatch done) {
    try {
      Way.Acceptor acceptor = way.listen();
      address.complete(acceptor.address());
      try (Link link = acceptor.accept()) { // what the acceptor has made belongs to it
        LinkCopy.of(Serving.class, ServingLoop.class, link).serve();
        served.complete(link.receivedCount());
        done.await();
      }
    } catch (IOException | RuntimeException | InterruptedException e) {
      address.completeExceptionally(e);
      served.completeExceptionally(e);
      throw new CompletionException(e);
    }
  }
}
