package io.rdma4j.tools.top;

import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.tools.Terminal;
import java.io.IOException;
import java.io.PrintWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * Shows a node, or a pool of its own, live: on a terminal animated, elsewhere a line for each
 * second.
 */
@Command(
    name = "top",
    description =
        "Show a node live: connections, rates, latency, pool, incidents. Without a terminal, print"
            + " a line for each second.",
    exitCodeListHeading = "%nExit status:%n",
    exitCodeList = {
      "0:the time is over",
      "64:wrong command line",
      "70:failure of the command itself"
    })
public final class TopCommand implements Callable<Integer> {
  private static final long FRAME_NS = 100_000_000;
  private static final long SECOND_NS = 1_000_000_000;
  private static final double PLAIN_SECONDS = 10;
  private static final double MOST_SECONDS = 86_400;

  /** Rates are of the last second: so many frames. */
  private static final int FRAMES_KEPT = 10;

  private static final int EVENTS_KEPT = 50;

  @Spec private @Nullable CommandSpec spec;

  @Option(
      names = "--demo-pool",
      description = "A pool of this process, plain memory, under a load of bursts and silence.")
  private boolean demoPool;

  @Parameters(
      arity = "0..1",
      paramLabel = "TARGET",
      description = "The node's monitor: URL, HOST:PORT, or the id of its process.")
  private @Nullable String target;

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "File with the token that the monitor asks for.")
  private @Nullable Path tokenFile;

  @Option(
      names = "--seconds",
      paramLabel = "N",
      description = "Seconds to run (default: until Ctrl-C on a terminal, 10 otherwise).")
  private @Nullable Double seconds;

  private long startNs;
  private final Deque<PoolSnapshot> history = new ArrayDeque<>();
  private final List<String> events = new ArrayList<>();

  /** Created by picocli. */
  public TopCommand() {}

  @Override
  public Integer call() throws IOException, InterruptedException {
    CommandSpec command = Objects.requireNonNull(spec, "spec");
    if (seconds != null && !(seconds >= 1 && seconds <= MOST_SECONDS)) {
      throw new ParameterException(
          command.commandLine(),
          "--seconds is %s, allowed are 1 to %.0f".formatted(seconds, MOST_SECONDS));
    }
    if (demoPool == (target != null)) {
      throw new ParameterException(
          command.commandLine(),
          "say what to show: the monitor of a node, or --demo-pool, a pool of this process");
    }
    boolean terminal = Terminal.isPresent();
    double limit = seconds != null ? seconds : terminal ? Double.MAX_VALUE : PLAIN_SECONDS;
    PrintWriter out = command.commandLine().getOut();
    if (target != null) {
      showNode(target, terminal, limit, command.commandLine());
      return 0;
    }
    try (RegisteredBufferPool pool = RegisteredBufferPool.create(DemoLoad.config(), List.of())) {
      try (DemoLoad load = new DemoLoad(pool)) {
        startNs = System.nanoTime();
        if (terminal) {
          animate(pool, load, limit, command.commandLine().getColorScheme().ansi().enabled());
        } else {
          print(pool, limit, out);
        }
      }
      out.printf(
          "all buffers released: %,d allocations, %,d releases%n",
          pool.statistics().allocations(),
          pool.statistics().classes().stream().mapToLong(c -> c.releases()).sum());
    }
    return 0;
  }

  private void showNode(String which, boolean terminal, double limit, CommandLine command)
      throws IOException, InterruptedException {
    URI address = MonitorAddress.of(which);
    String token = tokenFile == null ? null : Files.readString(tokenFile).strip();
    boolean colour = command.getColorScheme().ansi().enabled();
    boolean unicode = "UTF-8".equalsIgnoreCase(System.getProperty("stdout.encoding"));
    try (MonitorStream stream = new MonitorStream(address, token);
        Screen screen = terminal ? new Screen() : null) {
      startNs = System.nanoTime();
      NodePicture before = null;
      do {
        NodePicture picture = NodePicture.of(stream.next(), before);
        if (screen == null) {
          command.getOut().println(NodeScreen.plain(picture));
        } else {
          Screen.Size size = screen.size();
          PoolScreen.Style style =
              new PoolScreen.Style(size.columns(), size.rows(), colour, unicode);
          screen.draw(NodeScreen.lines(address.toString(), before, picture, style));
        }
        before = picture;
      } while (now() < limit);
    }
  }

  private double now() {
    return (System.nanoTime() - startNs) / 1e9;
  }

  private PoolSnapshot snapshot(RegisteredBufferPool pool) {
    return PoolSnapshot.of(pool.statistics(), pool.heat(), now());
  }

  private void animate(RegisteredBufferPool pool, DemoLoad load, double limit, boolean colour) {
    boolean unicode = "UTF-8".equalsIgnoreCase(System.getProperty("stdout.encoding"));
    try (Screen screen = new Screen()) {
      history.add(snapshot(pool));
      while (now() < limit && !Thread.currentThread().isInterrupted()) {
        LockSupport.parkNanos(FRAME_NS);
        PoolSnapshot before = history.getFirst();
        PoolSnapshot now = snapshot(pool);
        note(PoolEvents.between(history.getLast(), now));
        keep(now);
        Screen.Size size = screen.size();
        screen.draw(
            PoolScreen.lines(
                "demo pool, plain memory: " + load.phase(),
                before,
                now,
                events,
                new PoolScreen.Style(size.columns(), size.rows(), colour, unicode)));
      }
    }
  }

  private void note(List<String> news) {
    events.addAll(news);
    if (events.size() > EVENTS_KEPT) {
      events.subList(0, events.size() - EVENTS_KEPT).clear();
    }
  }

  private void keep(PoolSnapshot now) {
    history.addLast(now);
    if (history.size() > FRAMES_KEPT) {
      history.removeFirst();
    }
  }

  private void print(RegisteredBufferPool pool, double limit, PrintWriter out) {
    PoolSnapshot before = snapshot(pool);
    long nextNs = System.nanoTime();
    while (now() + 0.5 < limit && !Thread.currentThread().isInterrupted()) {
      nextNs += SECOND_NS;
      for (long leftNs = SECOND_NS; leftNs > 0; leftNs = nextNs - System.nanoTime()) {
        LockSupport.parkNanos(Math.max(1, nextNs - System.nanoTime()));
        if (Thread.currentThread().isInterrupted()) {
          return;
        }
      }
      PoolSnapshot now = snapshot(pool);
      out.println(PoolScreen.plain(before, now));
      before = now;
    }
  }
}
