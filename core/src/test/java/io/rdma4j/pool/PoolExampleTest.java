package io.rdma4j.pool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SegmentAllocator;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The examples of docs/operating/pool.md: that they work, and that they are these. */
@Timeout(60)
class PoolExampleTest {
  private static final Path BASE = Path.of(System.getProperty("basedir", "."));
  private static final Path SOURCE =
      BASE.resolve("src/test/java/io/rdma4j/pool/PoolExampleTest.java");
  private static final Path DOCUMENT = BASE.resolve("../docs/operating/pool.md");

  private record Entry(long address, long lengthBytes, int lkey) {}

  private final LimitedRegistrar device = LimitedRegistrar.unlimited("rxe0");
  private final RegisteredBufferPool pool =
      RegisteredBufferPool.create(
          PoolConfig.builder().largeSegmentBytes(2 << 20).build(), List.of(device));

  @Test
  void aLargeBuffer() {
    long lengthBytes = 5 << 20;
    List<Entry> gather = new ArrayList<>();
    // example: large buffer
    try (LargeBuffer image = pool.allocateLarge(lengthBytes)) {
      render(image.segment());
      if (image.awaitReady(0, lengthBytes, Duration.ofSeconds(10))) {
        image.forEachPart(
            0,
            lengthBytes,
            0,
            (address, bytes, lkey, rkey) -> gather.add(new Entry(address, bytes, lkey)));
      }
    }
    // end
    assertEquals(3, gather.size());
    assertEquals(lengthBytes, gather.stream().mapToLong(Entry::lengthBytes).sum());
    pool.close();
  }

  private static void render(MemorySegment image) {
    image.fill((byte) 1);
  }

  @Test
  void anArena() {
    List<Entry> gather = new ArrayList<>();
    // example: arena
    try (PooledArena arena = pool.openArena()) {
      MemorySegment order = encode(arena);
      RegisteredRange range = pool.find(order);
      if (range != null) {
        gather.add(new Entry(order.address(), order.byteSize(), range.lkey(0)));
      }
    }
    // end
    assertEquals(100, gather.getFirst().lkey());
    pool.close();
  }

  private static MemorySegment encode(SegmentAllocator allocator) {
    return allocator.allocateFrom(ValueLayout.JAVA_LONG, 4711, 100, 25);
  }

  @Test
  void theDocumentHasTheseExamples() throws IOException {
    List<String> source = Files.readAllLines(SOURCE);
    String document = Files.readString(DOCUMENT);
    for (String name : List.of("large buffer", "arena")) {
      int start = source.indexOf("    // example: " + name);
      List<String> rest = source.subList(start + 1, source.size());
      String example = String.join("\n", rest.subList(0, rest.indexOf("    // end"))).stripIndent();
      assertTrue(
          document.contains("```java\n" + example + "\n```"),
          () -> DOCUMENT + " should have:\n" + example);
    }
    pool.close();
  }
}
