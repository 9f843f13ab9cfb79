package io.rdma4j.lab;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.testkit.transport.LargeContract;
import io.rdma4j.testkit.transport.RemoteContract;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.verbs.Verbs;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Objects;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * One-sided operations and large messages on the kernel's RDMA drivers of the lab's guest. They
 * take longer there than all else, so they are run by hand:
 *
 * <pre>
 *   lab/verbs-tests --select-class io.rdma4j.lab.RemoteLabTest
 * </pre>
 */
@Tag("lab-long")
final class RemoteLabTest {
  /** RoCEv2: the device carries them out. */
  private static final String RXE = "10.9.0.1";

  /** iWARP: all goes by message. */
  private static final String SIW = "10.9.1.1";

  private static InetAddress parse(String text) {
    try {
      return InetAddress.getByName(text);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }

  /** What takes a moment elsewhere takes seconds in emulation. */
  private static NodeConfig.Builder emulated(NodeConfig.Builder builder) {
    return builder
        .verbs(Verbs.system())
        .handshakeTimeout(Duration.ofSeconds(60))
        .liveness(Duration.ofSeconds(1), Duration.ofSeconds(60))
        .closeTimeout(Duration.ofSeconds(20));
  }

  abstract static class Remote extends RemoteContract {
    private final String address;

    Remote(String address) {
      this.address = address;
    }

    @Override
    protected String path() {
      return "verbs";
    }

    @Override
    protected InetAddress address() {
      return parse(address);
    }

    @Override
    protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
      return emulated(super.configure(builder));
    }
  }

  abstract static class Large extends LargeContract {
    private final String address;

    Large(String address) {
      this.address = address;
    }

    @Override
    protected String path() {
      return "verbs";
    }

    @Override
    protected InetAddress address() {
      return parse(address);
    }

    @Override
    protected NodeConfig.Builder configure(NodeConfig.Builder builder) {
      return emulated(super.configure(builder));
    }
  }

  @Nested
  final class RemoteOnRxe extends Remote {
    RemoteOnRxe() {
      super(RXE);
    }
  }

  @Nested
  final class RemoteOnSiw extends Remote {
    RemoteOnSiw() {
      super(SIW);
    }
  }

  @Nested
  final class LargeOnRxe extends Large {
    LargeOnRxe() {
      super(RXE);
    }
  }

  @Nested
  final class LargeOnSiw extends Large {
    LargeOnSiw() {
      super(SIW);
    }
  }

  /** Both drivers' atomics are atomic among themselves only, which a path with a device says. */
  @Test
  void theDeviceServesPeersOverRoceAlone() {
    assertTrue(describe(RXE).contains("atomics by message"), describe(RXE));
    assertFalse(describe(SIW).contains("atomics by message"), describe(SIW));
  }

  private static String describe(String address) {
    NodeConfig.Builder listening =
        emulated(NodeConfig.builder())
            .paths("verbs")
            .listen(new InetSocketAddress(parse(address), 0), (peer, path) -> (c, message) -> {});
    try (Node server = Node.start(listening.build());
        Node client = Node.start(emulated(NodeConfig.builder()).paths("verbs").build())) {
      InetSocketAddress at = Objects.requireNonNull(server.listenAddress());
      return client.connect(at, (c, message) -> {}).path().toString();
    }
  }
}
