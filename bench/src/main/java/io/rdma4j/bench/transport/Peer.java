package io.rdma4j.bench.transport;

import io.rdma4j.bench.natives.Linux;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The second process. Does what standard input says, one line each, and answers with a line:
 *
 * <pre>
 *  open WAY     address ADDRESS, then ready when the other side has connected
 *  serve WAY    serving; then served RECEIVED MISORDERED when a message has said stop
 *  cpu          cpu NANOSECONDS of this process so far; at any time
 *  end          nothing
 *  anything that fails: failed REASON
 * </pre>
 *
 * <p>The main thread serves; another reads, and ends the process when the other one is gone.
 */
public final class Peer {
  private static final Logger LOG = System.getLogger(Peer.class.getName());

  private final Map<String, Way> ways = Ways.all();
  private final Map<String, Link> links = new LinkedHashMap<>();
  private final Map<String, Serving> servings = new LinkedHashMap<>();
  private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();

  private Peer() {}

  /** Runs until standard input ends. */
  public static void main(String[] args) throws InterruptedException {
    Peer peer = new Peer();
    Thread reader = Thread.ofPlatform().daemon(true).name("bench-control").unstarted(peer::read);
    reader.start();
    peer.run();
    System.exit(0);
  }

  private void read() {
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        if (line.equals("cpu")) {
          say("cpu " + Linux.processCpuNs());
        } else {
          commands.add(line);
        }
      }
    } catch (IOException e) {
      say("failed " + e);
    }
    // The other process has ended. The serving thread may spin: it gets no chance to object.
    removeLeftovers(ways, ProcessHandle.current().pid());
    Runtime.getRuntime().halt(commands.contains("end") ? 0 : 1);
  }

  /** Removes what a peer that was ended by force may have left behind. */
  static void removeLeftovers(Map<String, Way> ways, long pid) {
    for (Way way : ways.values()) {
      try {
        way.removeLeftovers(pid);
      } catch (IOException | RuntimeException e) {
        LOG.log(Level.WARNING, "what " + way.name() + " of process " + pid + " left stays", e);
      }
    }
  }

  private void run() throws InterruptedException {
    while (true) {
      String[] words = commands.take().split(" ");
      if (words[0].equals("end")) {
        break;
      }
      try {
        switch (words[0]) {
          case "open" -> open(words[1]);
          case "serve" -> serve(words[1]);
          default -> throw new IOException("unknown command " + words[0]);
        }
      } catch (IOException | RuntimeException | LinkageError e) {
        say("failed " + e);
      }
    }
    for (Link link : links.values()) {
      try {
        link.close();
      } catch (IOException | RuntimeException e) {
        say("failed " + link + ": " + e);
      }
    }
  }

  private void open(String name) throws IOException {
    Way way = Objects.requireNonNull(ways.get(name), name);
    Way.Acceptor acceptor = way.listen();
    try {
      say("address " + acceptor.address());
      Link link = acceptor.accept();
      links.put(name, link);
      servings.put(name, LinkCopy.of(Serving.class, ServingLoop.class, link));
    } catch (IOException | RuntimeException e) {
      acceptor.close();
      throw e;
    }
    say("ready");
  }

  private void serve(String name) throws IOException {
    Serving serving = Objects.requireNonNull(servings.get(name), name);
    Link link = Objects.requireNonNull(links.get(name), name);
    say("serving");
    serving.serve();
    say("served " + link.receivedCount() + " " + link.misorderedCount());
  }

  private static synchronized void say(String line) {
    System.out.println(line.replace('\n', ' '));
    System.out.flush();
  }
}
