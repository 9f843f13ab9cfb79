package io.rdma4j.testkit.provider;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.rdma4j.provider.Provider;
import io.rdma4j.provider.shm.ShmProvider;
import java.io.File;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Shared memory in anonymous files keeps the contract of providers. */
final class ShmProviderTest extends ProviderContract {
  @Override
  protected Provider createProvider() {
    return new ShmProvider(null);
  }

  @Override
  protected @Nullable Class<? extends Supplier<Provider>> childProvider() {
    return Child.class;
  }

  @Override
  protected void assertNothingLeft() {
    String[] left = new File("/dev/shm").list((directory, name) -> name.startsWith("rdma4j"));
    assertArrayEquals(new String[0], left);
  }

  /** Makes the provider of the child process. */
  public static final class Child implements Supplier<Provider> {
    /** Called by reflection. */
    public Child() {}

    @Override
    public Provider get() {
      return new ShmProvider(null);
    }
  }
}
