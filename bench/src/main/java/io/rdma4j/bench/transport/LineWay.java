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

/**
 * One word in a cache line for each direction, or a message in as many lines as it takes: what the
 * machine can do at best.
 *
 * <pre>
 *  0   8  sequence number plus one, shifted by two, and the flags; written last, 0 before the first
 *  8   8  length of the message in bytes
 * 16      the message
 * </pre>
 *
 * @param carriesMessages whether there is more than the first word
 */
record LineWay(String name, boolean carriesMessages) implements Way {
  private static final VarHandle WORD = JAVA_LONG.varHandle().withInvokeExactBehavior();
  private static final long LENGTH = 8;
  private static final long MESSAGE = 16;
  private static final Path DIRECTORY = Path.of("/dev/shm");
  private static final long FILE_BYTES = 4096;
  private static final long APART_BYTES = 1024;

  /** One word each way. */
  static LineWay word() {
    return new LineWay("line", false);
  }

  /** A message each way. */
  static LineWay message() {
    return new LineWay("lines", true);
  }

  @Override
  public String description() {
    return carriesMessages
        ? "a message in the cache lines that it takes, always the same ones, and nothing else"
        : "one word in a cache line each way, no message: the machine's own limit";
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
    LineLink link = new LineLink(file, 0, carriesMessages);
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
    LineLink link = new LineLink(file, 1, carriesMessages);
    Files.delete(file); // both ends have it: nothing is left behind, however they end
    return link;
  }

  private static final class LineLink extends Link {
    private final Arena arena = Arena.ofShared();
    private final Path file;
    private final MemorySegment memory;
    private final long outAt;
    private final long inAt;
    private final boolean carriesMessages;
    private final MemorySegment out = arena.allocate(APART_BYTES, LINE_BYTES);
    private long last;

    LineLink(Path file, int side, boolean carriesMessages) throws IOException {
      this.file = file;
      this.carriesMessages = carriesMessages;
      try (FileChannel channel =
          FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
        memory = channel.map(MapMode.READ_WRITE, 0, FILE_BYTES, arena);
      }
      outAt = side * APART_BYTES;
      inAt = (1 - side) * APART_BYTES;
    }

    @Override
    boolean offer(long sequence, long flags, int lengthBytes) {
      if (carriesMessages) {
        out.set(JAVA_LONG, 0, sequence);
        MemorySegment.copy(out, 0, memory, outAt + MESSAGE, lengthBytes);
        memory.set(JAVA_LONG, outAt + LENGTH, lengthBytes);
      }
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
      if (carriesMessages) {
        receivedMessage(word & 3);
      } else {
        received((word >>> 2) - 1, word & 3, Long.BYTES, 0);
      }
      return 1;
    }

    private void receivedMessage(long flags) throws IOException {
      int lengthBytes = (int) memory.get(JAVA_LONG, inAt + LENGTH);
      long touch = memory.get(JAVA_LONG, inAt + MESSAGE + lengthBytes - Long.BYTES);
      received(memory.get(JAVA_LONG, inAt + MESSAGE), flags, lengthBytes, touch);
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
