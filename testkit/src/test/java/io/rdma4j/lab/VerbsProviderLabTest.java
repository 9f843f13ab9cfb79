package io.rdma4j.lab;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.provider.Provider;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.testkit.provider.ProviderContract;
import io.rdma4j.verbs.Verbs;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.function.Supplier;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;

/** The verbs provider under the contract suite, on the kernel's RDMA drivers of the lab's guest. */
@Tag("lab")
final class VerbsProviderLabTest {
  /** RoCEv2. */
  @Nested
  final class OnRxe extends OnKernelDevice {
    OnRxe() {
      super("10.9.0.1");
    }
  }

  /** iWARP. */
  @Nested
  final class OnSiw extends OnKernelDevice {
    OnSiw() {
      super("10.9.1.1");
    }
  }

  /** Makes the provider of a child process. */
  public static final class SystemVerbsProvider implements Supplier<Provider> {
    /** Called by name. */
    public SystemVerbsProvider() {}

    @Override
    public Provider get() {
      return new VerbsProvider(Verbs.system());
    }
  }

  abstract static class OnKernelDevice extends ProviderContract {
    private final String address;

    OnKernelDevice(String address) {
      this.address = address;
    }

    @Override
    protected Provider createProvider() throws IOException {
      VerbsProvider provider = new VerbsProvider(Verbs.system());
      assertTrue(provider.availability().usable(), () -> provider.availability().reason());
      return provider;
    }

    @Override
    protected InetAddress address() {
      try {
        return InetAddress.getByName(address);
      } catch (UnknownHostException e) {
        throw new AssertionError(e);
      }
    }

    /** The guest is an emulation: everything takes a hundred times as long. */
    @Override
    protected Duration patience() {
      return Duration.ofSeconds(90);
    }

    @Override
    protected int manyMessages() {
      return 10_000;
    }

    @Override
    protected int manyConnections() {
      return 30;
    }

    @Override
    protected Class<? extends Supplier<Provider>> childProvider() {
      return SystemVerbsProvider.class;
    }
  }
}
