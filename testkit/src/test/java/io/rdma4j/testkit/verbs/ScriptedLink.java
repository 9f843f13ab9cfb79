package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.fail;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.provider.verbs.VerbsSettings;
import io.rdma4j.testkit.provider.EndpointPair;
import io.rdma4j.testkit.provider.Inbox;
import java.io.IOException;
import java.net.InetAddress;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Two verbs providers on one scripted device; closing it checks that nothing is left. */
final class ScriptedLink implements AutoCloseable {
  static final InetAddress ADDRESS = InetAddress.getLoopbackAddress();
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  final ScriptedVerbs verbs = new ScriptedVerbs();
  final ScriptedDevice device = verbs.addDevice("scripted0").address(ADDRESS);
  final EndpointConfig config;
  private final VerbsProvider initiator;
  private final VerbsProvider acceptor;

  ScriptedLink(int maxMessageBytes, int window) {
    this(maxMessageBytes, window, new VerbsSettings(16, 0, 0));
  }

  ScriptedLink(int maxMessageBytes, int window, VerbsSettings settings) {
    config = new EndpointConfig(maxMessageBytes, window, 4 * maxMessageBytes);
    initiator = new VerbsProvider(verbs, settings, NanoClock.SYSTEM);
    acceptor = new VerbsProvider(verbs, settings, NanoClock.SYSTEM);
  }

  EndpointPair connect() throws IOException {
    return connect(initiator::initiate, PATIENCE);
  }

  EndpointPair connect(EndpointPair.Setup initiate, Duration timeout) throws IOException {
    return EndpointPair.connect(initiate, acceptor, ADDRESS, config, timeout);
  }

  VerbsProvider initiator() {
    return initiator;
  }

  static void pollUntil(Endpoint endpoint, Inbox inbox, BooleanSupplier done) {
    long startNs = System.nanoTime();
    while (!done.getAsBoolean()) {
      endpoint.housekeep(System.nanoTime());
      endpoint.poll(inbox, 16);
      if (System.nanoTime() - startNs > PATIENCE.toNanos()) {
        fail("nothing came within " + PATIENCE + "; messages " + inbox.messages().size());
      }
    }
  }

  @Override
  public void close() {
    initiator.close();
    acceptor.close();
    verbs.ledger().assertNothingLeft();
  }
}
