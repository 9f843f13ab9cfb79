package io.rdma4j.bench.transport;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Subscription;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ThreadingMode;
import io.rdma4j.Availability;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.agrona.CloseHelper;
import org.agrona.IoUtil;
import org.agrona.concurrent.SleepingMillisIdleStrategy;

/**
 * Aeron over shared memory. The driver lives in the accepting process, on one thread that sleeps a
 * millisecond between its rounds, so that the two measured threads have two processors.
 */
record AeronWay() implements Way {
  private static final String CHANNEL = "aeron:ipc";
  private static final int TO_ACCEPTOR = 1001;
  private static final int TO_CONNECTOR = 1002;
  private static final Path MEMORY = Path.of("/dev/shm");
  private static final long TIMEOUT_NS = 20_000_000_000L;

  @Override
  public String name() {
    return "aeron";
  }

  @Override
  public String description() {
    return "Aeron IPC, exclusive publications; driver on one thread with 1 ms naps";
  }

  @Override
  public Availability availability() {
    return Files.isWritable(MEMORY)
        ? Availability.usable("Aeron in " + MEMORY)
        : Availability.unusable("Aeron wants " + MEMORY + ", which is not writable here");
  }

  private static Path directory(long pid) {
    return MEMORY.resolve("rdma4j-bench-aeron-" + pid);
  }

  @Override
  public void removeLeftovers(long pid) {
    IoUtil.delete(directory(pid).toFile(), true);
  }

  @Override
  public Acceptor listen() {
    String directory = directory(ProcessHandle.current().pid()).toString();
    MediaDriver driver =
        MediaDriver.launch(
            new MediaDriver.Context()
                .aeronDirectoryName(directory)
                .dirDeleteOnStart(true)
                .dirDeleteOnShutdown(true)
                .threadingMode(ThreadingMode.SHARED)
                .sharedIdleStrategy(new SleepingMillisIdleStrategy(1)));
    return new Acceptor() {
      @Override
      public String address() {
        return directory;
      }

      @Override
      public Link accept() throws IOException {
        return open(directory, TO_CONNECTOR, TO_ACCEPTOR, driver);
      }

      @Override
      public void close() {
        driver.close();
      }
    };
  }

  @Override
  public Link connect(String address) throws IOException {
    return open(address, TO_ACCEPTOR, TO_CONNECTOR, () -> {});
  }

  private static Link open(String directory, int out, int in, AutoCloseable driver)
      throws IOException {
    Aeron aeron = Aeron.connect(new Aeron.Context().aeronDirectoryName(directory));
    try {
      ExclusivePublication publication = aeron.addExclusivePublication(CHANNEL, out);
      Subscription subscription = aeron.addSubscription(CHANNEL, in);
      long endNs = System.nanoTime() + TIMEOUT_NS;
      while (!publication.isConnected() || !subscription.isConnected()) {
        if (System.nanoTime() - endNs > 0) {
          throw new IOException("Aeron's other end is not there after 20 s");
        }
        Thread.onSpinWait();
      }
      return new AeronLink(aeron, publication, subscription, driver);
    } catch (IOException | RuntimeException e) {
      CloseHelper.quietClose(aeron);
      throw e;
    }
  }
}
