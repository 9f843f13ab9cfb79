package io.rdma4j.lab.pair;

import io.rdma4j.transport.NodeConfig;
import java.time.Duration;

/** What both nodes have in common. Times not named here are the defaults. */
final class PairConfig {
  static final int PORT = 7500;

  /** How long a path that has ended is the last choice. */
  private static final Duration SETTLE = Duration.ofSeconds(3);

  private PairConfig() {}

  static NodeConfig.Builder node(String... paths) {
    return NodeConfig.builder()
        .paths(paths)
        .handshakeTimeout(Duration.ofMinutes(2)) // everything is slow in emulation
        .closeTimeout(Duration.ofSeconds(10))
        .resume(Duration.ofSeconds(60), SETTLE)
        .backoff(Duration.ofMillis(100), Duration.ofSeconds(1));
  }
}
