package io.rdma4j.testkit.provider;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.rdma4j.provider.Provider;
import io.rdma4j.provider.shm.ShmProvider;
import java.io.File;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;

/** Shared memory in files of a directory keeps the contract of providers. */
final class ShmDirectoryProviderTest extends ProviderContract {
  @TempDir private static Path directory = Path.of("");

  @Override
  protected Provider createProvider() {
    return new ShmProvider(directory);
  }

  @Override
  protected @Nullable Class<? extends Supplier<Provider>> childProvider() {
    return ShmProviderTest.Child.class;
  }

  @Override
  protected void assertNothingLeft() {
    File[] left = directory.toFile().listFiles();
    assertArrayEquals(new File[0], left);
  }
}
