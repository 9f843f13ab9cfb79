package io.rdma4j.testkit.provider;

import io.rdma4j.provider.Provider;
import io.rdma4j.provider.tcp.TcpProvider;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Messages over the bootstrap socket keep the contract of providers. */
final class TcpProviderTest extends ProviderContract {
  @Override
  protected Provider createProvider() {
    return new TcpProvider();
  }

  @Override
  protected @Nullable Class<? extends Supplier<Provider>> childProvider() {
    return Child.class;
  }

  /** Makes the provider of the child process. */
  public static final class Child implements Supplier<Provider> {
    /** Called by reflection. */
    public Child() {}

    @Override
    public Provider get() {
      return new TcpProvider();
    }
  }
}
