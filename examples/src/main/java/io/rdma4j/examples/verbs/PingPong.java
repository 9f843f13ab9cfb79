package io.rdma4j.examples.verbs;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdma4j.pool.PoolStatistics;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CmParameters;
import io.rdma4j.verbs.Verbs;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/** Two ends of a connection in this process, which send a number to and fro. */
public final class PingPong {
  private static final CmParameters PARAMETERS = new CmParameters(new byte[0], 1, 1, 7, 7);
  private static final int RESOLVE_TIMEOUT_MS = 2_000;
  private static final long TIMEOUT_NS = 30_000_000_000L;

  private PingPong() {}

  /** Takes an address of an RDMA device of this host, and the number of round trips. */
  public static void main(String[] args) throws InterruptedException, ExecutionException {
    Verbs verbs = Verbs.system();
    if (args.length < 1 || !verbs.availability().usable()) {
      System.err.println(
          args.length < 1 ? "usage: PingPong ADDRESS [COUNT]" : verbs.availability().reason());
      System.exit(2);
    }
    int count = args.length > 1 ? Integer.parseInt(args[1]) : 1_000;
    System.out.print(run(verbs, new InetSocketAddress(args[0], 0), count));
  }

  static String run(Verbs verbs, InetSocketAddress local, int count)
      throws InterruptedException, ExecutionException {
    try (CmId listener = verbs.createCmId()) {
      listener.bind(local);
      listener.listen(1);
      FutureTask<String> server = start(() -> serve(listener, count));
      String report = ping(verbs, listener.localAddress(), count);
      return report + server.get();
    }
  }

  private static FutureTask<String> start(Callable<String> work) {
    FutureTask<String> task = new FutureTask<>(work);
    Thread.ofPlatform().daemon().name("pong").start(task);
    return task;
  }

  private static String ping(Verbs verbs, InetSocketAddress server, int count) {
    try (CmId id = verbs.createCmId()) {
      id.resolveAddress(null, server, RESOLVE_TIMEOUT_MS);
      await(id, CmEvent.Type.ADDR_RESOLVED);
      id.resolveRoute(RESOLVE_TIMEOUT_MS);
      await(id, CmEvent.Type.ROUTE_RESOLVED);
      try (PooledEndpoint end = new PooledEndpoint(id)) {
        id.connect(PARAMETERS);
        await(id, CmEvent.Type.ESTABLISHED);
        long[] timesNs = new long[count];
        for (int i = 0; i < count; i++) {
          long startNs = System.nanoTime();
          send(end, i);
          receive(end, i);
          timesNs[i] = System.nanoTime() - startNs;
        }
        Arrays.sort(timesNs);
        String report =
            String.format(
                Locale.ROOT,
                "%,d round trips, p50 %.1f us%n%s",
                count,
                timesNs[count / 2] / 1e3,
                describe("ping", end));
        id.disconnect();
        return report;
      }
    }
  }

  private static String serve(CmId listener, int count) {
    CmEvent request = await(listener, CmEvent.Type.CONNECT_REQUEST);
    try (CmId id = Objects.requireNonNull(request.newId());
        PooledEndpoint end = new PooledEndpoint(id)) {
      id.accept(PARAMETERS);
      await(id, CmEvent.Type.ESTABLISHED);
      for (int i = 0; i < count; i++) {
        receive(end, i);
        send(end, i);
      }
      await(id, CmEvent.Type.DISCONNECTED);
      String report = describe("pong", end);
      id.disconnect();
      return report;
    }
  }

  private static void send(PooledEndpoint end, long number) {
    RegisteredBuffer message = end.newMessage(Long.BYTES);
    message.segment().set(JAVA_LONG, 0, number);
    end.send(message);
  }

  private static void receive(PooledEndpoint end, long expected) {
    try (RegisteredBuffer message = await(end, expected)) {
      long number = message.segment().get(JAVA_LONG, 0);
      if (number != expected) {
        throw new IllegalStateException("message " + number + " came instead of " + expected);
      }
    }
  }

  private static RegisteredBuffer await(PooledEndpoint end, long expected) {
    long deadlineNs = System.nanoTime() + TIMEOUT_NS;
    RegisteredBuffer message;
    while ((message = end.poll()) == null) {
      if (System.nanoTime() - deadlineNs > 0) {
        throw new IllegalStateException("message " + expected + " did not come");
      }
      Thread.onSpinWait();
    }
    return message;
  }

  private static String describe(String name, PooledEndpoint end) {
    PoolStatistics statistics = end.pool().statistics();
    long blocks =
        statistics.classes().stream().mapToLong(PoolStatistics.SizeClass::allocations).sum();
    return String.format(
        Locale.ROOT,
        "%s: %,d blocks used, %d registrations%n",
        name,
        blocks,
        statistics.registrationTimes().count());
  }

  private static CmEvent await(CmId id, CmEvent.Type type) {
    CmEvent event = id.awaitEvent(TIMEOUT_NS);
    if (event == null || event.type() != type) {
      throw new IllegalStateException("%s instead of %s on %s".formatted(event, type, id));
    }
    return event;
  }
}
