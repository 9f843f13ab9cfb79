package io.rdma4j.lab.pair;

import io.rdma4j.SendResult;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Checks that numbered messages come once, in order and intact. How far it has come it notes in a
 * file before it tells the sender, so that it goes on from there after a restart of its guest.
 *
 * <p>Arguments: address to listen on, file. Exits with 1 when messages were lost, came twice or
 * were damaged.
 */
final class PairReceiver implements ConnectionHandler, AutoCloseable {
  private static final int ACKNOWLEDGE_EACH_MS = 20;
  private static final int STAND_STILL_SECONDS = Fault.RECEIVER_STOPPED.seconds();

  private final FileChannel file;
  private final ByteBuffer noted = ByteBuffer.allocateDirect(Long.BYTES);
  private final BlockingQueue<Order> orders = new LinkedBlockingQueue<>();
  private final MemorySegment answer = Arena.ofAuto().allocate(2 * PairMessage.HEADER_BYTES, 8);

  /** What follows is written by the polling thread. */
  private volatile @Nullable Connection current;

  private volatile long next;
  private final AtomicLong lost = new AtomicLong();
  private final AtomicLong duplicated = new AtomicLong();
  private final AtomicLong corrupted = new AtomicLong();

  private PairReceiver(Path path) throws IOException {
    file =
        FileChannel.open(
            path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    if (file.read(noted, 0) == Long.BYTES) {
      next = noted.flip().getLong();
    }
  }

  /** Runs until the sender says that it ends. */
  public static void main(String[] args) throws Exception {
    boolean clean;
    try (PairReceiver receiver = new PairReceiver(Path.of(args[1]));
        Node node =
            Node.start(
                PairConfig.node("verbs", "tcp")
                    .listen(
                        new InetSocketAddress(args[0], PairConfig.PORT), (peer, path) -> receiver)
                    .build())) {
      System.out.println(
          "receiver: at %s, goes on with message %d"
              .formatted(node.listenAddress(), receiver.next));
      receiver.run();
      clean = receiver.tally().isClean();
      System.out.println("receiver: " + receiver.next + " messages, " + receiver.tally());
    }
    System.exit(clean ? 0 : 1);
  }

  // ---- polling thread ---------------------------------------------------------------------------

  @Override
  public void onConnected(Connection connection) {
    System.out.println("receiver: " + connection);
    current = connection;
  }

  /** What still comes over a connection before the current one will come again over that. */
  @Override
  public void onMessage(Connection connection, Message message) {
    if (connection != current) {
      return;
    }
    MemorySegment payload = message.payload();
    if (!PairMessage.isIntact(payload)) {
      corrupted.incrementAndGet();
    } else if (PairMessage.kind(payload) == PairMessage.DATA) {
      take(PairMessage.number(payload));
    } else {
      orders.add(Order.of(PairMessage.number(payload)));
    }
  }

  private void take(long number) {
    long expected = next;
    if (number < expected) {
      duplicated.incrementAndGet();
      return;
    }
    lost.addAndGet(number - expected);
    next = number + 1;
  }

  @Override
  public void onDisconnected(Connection connection, EndpointFailure reason) {
    System.out.println("receiver: connection " + connection.id() + " ended: " + reason.message());
  }

  // ---- main thread ------------------------------------------------------------------------------

  private void run() throws IOException, InterruptedException {
    Connection welcomed = null;
    long acknowledged = next;
    while (true) {
      Order order = orders.poll(ACKNOWLEDGE_EACH_MS, TimeUnit.MILLISECONDS);
      Connection to = current;
      long delivered = next;
      if (to != null && to != welcomed) {
        // The sender sends nothing before this.
        welcomed = say(to, PairMessage.WELCOME, delivered) ? to : null;
      } else if (to != null && delivered != acknowledged) {
        file.write(noted.clear().putLong(delivered).flip(), 0);
        acknowledged = say(to, PairMessage.DELIVERED, delivered) ? delivered : acknowledged;
      }
      if (order == Order.END && to != null) {
        end(to);
        return;
      }
      if (order != null) {
        obey(order);
      }
    }
  }

  /** Returns whether the path had room; of the end of a connection its successor tells. */
  private boolean say(Connection to, long kind, long number) {
    return to.send(answer, 0, PairMessage.write(answer, kind, number)) >= 0;
  }

  private static void obey(Order order) {
    switch (order) {
      case LOSE -> Fault.lose();
      case REORDER -> Fault.reorder();
      case PASS -> Guest.noNetem();
      case STAND_STILL -> Guest.stopThisProcess(STAND_STILL_SECONDS);
      case END -> throw new IllegalArgumentException("the end is not an order to obey here");
    }
  }

  private void end(Connection to) throws InterruptedException {
    long result =
        to.send(answer, 0, PairMessage.writeTally(answer, tally()), TimeUnit.SECONDS.toNanos(60));
    if (result < 0) {
      throw new IllegalStateException("the tally: " + SendResult.nameOf(result));
    }
    for (int waitedMs = 0; to.isOpen() && waitedMs < 60_000; waitedMs += ACKNOWLEDGE_EACH_MS) {
      Thread.sleep(ACKNOWLEDGE_EACH_MS); // until the sender closes: the tally has arrived then
    }
  }

  private Tally tally() {
    return new Tally(lost.get(), duplicated.get(), corrupted.get());
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
