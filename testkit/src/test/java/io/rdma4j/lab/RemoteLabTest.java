package io.rdma4j.lab;

import io.rdma4j.testkit.transport.LargeContract;
import io.rdma4j.testkit.transport.RemoteContract;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.verbs.Verbs;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** One-sided operations and large messages on the kernel's RDMA drivers of the lab's guest. */
@Tag("lab")
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
}
