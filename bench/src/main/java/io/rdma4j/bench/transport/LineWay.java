package io.rdma4j.bench.transport;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdma4j.Availability;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.VarHandle;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** One word in a cache line for each direction: what the machine can do at best. */
record LineWay() implements Way {
  private static final VarHandle WORD = JAVA_LONG.varHandle().withInvokeExactBehavior();
  private static final Path DIRECTORY = Path.of("/dev/shm");
  private static final long FILE_BYTES = 4096;
  private static final long APART_BYTES = 1024;

  @Override
  public String name() {
    return "line";
  }

  @Override
  public String description() {
    return "one word in a cache line each way, no message: the machine's own limit";
  }

  @Override
  public boolean carriesStreams() {
    return false;
  }

  @Override
  public Availability availability() {
    return Files.isWritable(DIRECTORY)
        ? Availability.usable("memory of two processes in " + DIRECTORY)
        : Availability.unusable(DIRECTORY + " is not there or not writable");
  }

  @Override
  public Acceptor listen() throws IOException {
    Path file = Files.createTempFile(DIRECTORY, "rdma4j-bench-", ".line");
    LineLink link = new LineLink(file, 0);
    return new Acceptor() {
      @Override
      public String address() {
        return file.toString();
      }

      @Override
      public Link accept() {
        return link;
      }

      @Override
      public void close() throws IOException {
        link.close();
      }
    };
  }

  @Override
  public Link connect(String address) throws IOException {
    Path file = Path.of(address);
    LineLink link = new LineLink(file, 1);
    Files.delete(file); // both ends have it: nothing is left behind, however they end
    return link;
  }

  private static final class LineLink extends Link {
    private final Arena arena = Arena.ofShared();
    private final Path file;
    private final MemorySegment memory;
    private final long outAt;
    private final long inAt;
    private long last;

    LineLink(Path file, int side) throws IOException {
      this.file = file;
      try (FileChannel channel =
          FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        memory = channel.map(MapMode.READ_WRITE, 0, FILE_BYTES, arena);
      }
      outAt = side * APART_BYTES;
      inAt = (1 - side) * APART_BYTES;
    }

    /** A word holds the sequence number plus one, shifted, and the flags. */
    @Override
    boolean offer(long sequence, long flags, int lengthBytes) {
      WORD.setRelease(memory, outAt, ((sequence + 1) << 2) | flags);
      return true;
    }

    @Override
    void flush() {}

    @Override
    int poll() throws IOException {
      long word = (long) WORD.getAcquire(memory, inAt);
      if (word == last) {
        return 0;
      }
      last = word;
      received((word >>> 2) - 1, word & 3, Long.BYTES, 0);
      return 1;
    }

    @Override
    public void close() throws IOException {
      arena.close();
      Files.deleteIfExists(file);
    }

    @Override
    public String toString() {
      return "words in " + file;
    }
  }
}
