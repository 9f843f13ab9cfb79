package io.rdma4j.provider.shm;

import static io.rdma4j.provider.shm.RecordLayout.HEADER_BYTES;
import static io.rdma4j.provider.shm.RecordLayout.LINE_BYTES;
import static io.rdma4j.provider.shm.RecordLayout.WORD;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.os.Mapping;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.Recorder;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A ring by itself, in plain memory. */
@Timeout(100)
final class RingTest {
  private static final int CAPACITY = 4096;
  private static final int MAX = 1000;

  private final Arena arena = Arena.ofShared();
  private final MemorySegment ring = arena.allocate(CAPACITY, 4096);
  private final MemorySegment consumer = arena.allocate(8, 128);
  private final RingWriter writer = new RingWriter(ring, consumer);
  private final RingReader reader = new RingReader(ring, consumer, MAX);
  private final MemorySegment source = MemorySegment.ofArray(new byte[MAX]);
  private final Recorder recorder = new Recorder();

  @AfterEach
  void free() {
    arena.close();
  }

  private int write(long id, int lengthBytes) {
    int written = hold(id, lengthBytes);
    writer.publish();
    return written;
  }

  private int hold(long id, int lengthBytes) {
    fill(id, lengthBytes);
    return writer.write((int) (id & 0xFF), id, source, 0, lengthBytes);
  }

  private void fill(long id, int lengthBytes) {
    for (int i = 0; i < lengthBytes; i++) {
      source.set(JAVA_BYTE, i, (byte) (id * 31 + i));
    }
  }

  @Test
  void aHeldRecordAndThoseBehindItAreFoundTogether() {
    for (int round = 0; round < 100; round++) { // held at each place, the ring's end included
      for (int i = 0; i < 3; i++) {
        assertEquals(RingWriter.WRITTEN, hold(round + i, 30 * i + round / 2));
        assertEquals(0, reader.poll(recorder, 16));
        assertTrue(reader.isEmpty());
        assertTrue(writer.holds());
      }
      writer.publish();
      writer.publish();
      assertFalse(writer.holds());
      assertEquals(3, reader.poll(recorder, 16));
      reader.reclaim();
      for (int i = 0; i < 3; i++) {
        assertReceived(recorder.messages.removeFirst(), round + i, 30 * i + round / 2);
      }
    }
    assertDrained();
  }

  @Test
  void someRecordsLetThemselvesGoAndSoDoesALongOne() {
    for (int i = 0; i < 4; i++) {
      assertEquals(0, reader.poll(recorder, 16));
      assertEquals(RingWriter.WRITTEN, hold(i, 8));
    }
    assertEquals(4, reader.poll(recorder, 16));
    assertEquals(RingWriter.WRITTEN, hold(4, MAX));
    assertEquals(1, reader.poll(recorder, 16));
    assertFalse(writer.holds());
  }

  @Test
  void aFullRingHoldsNothingBack() {
    int written = 0;
    int records = 0;
    while ((written = hold(records, 8)) == RingWriter.WRITTEN) {
      records++;
    }
    assertEquals(RingWriter.FULL, written);
    assertFalse(writer.holds());
    assertEquals(records, reader.poll(recorder, Integer.MAX_VALUE));
  }

  private void assertReceived(Recorder.Message message, long id, int lengthBytes) {
    assertEquals(id & 0xFF, message.type());
    assertEquals(id, message.correlationId());
    byte[] expected = new byte[lengthBytes];
    for (int i = 0; i < lengthBytes; i++) {
      expected[i] = (byte) (id * 31 + i);
    }
    assertArrayEquals(expected, message.payload(), "message " + id);
  }

  /** Moves both ends to a line of the ring with messages of one line. */
  private void advanceTo(int line) {
    for (int i = 0; i < line; i++) {
      assertEquals(RingWriter.WRITTEN, write(i, 0));
      assertEquals(1, reader.poll(recorder, 1));
    }
    reader.reclaim();
    recorder.messages.clear();
  }

  @Test
  void wrapsAroundAtEveryLineWithEverySizeAroundALine() {
    int lines = CAPACITY / LINE_BYTES;
    for (int line = 0; line < lines; line++) {
      for (int size : List.of(0, 1, 47, 48, 49, 63, 64, 111, 112, 113, 975, 976, 977, MAX)) {
        RingTest fresh = new RingTest();
        fresh.advanceTo(line);
        for (int i = 0; i < 12; i++) {
          assertEquals(RingWriter.WRITTEN, fresh.write(i, size), "line " + line + ", size " + size);
          assertEquals(1, fresh.reader.poll(fresh.recorder, 16));
          assertReceived(fresh.recorder.messages.get(i), i, size);
          fresh.reader.reclaim();
        }
        fresh.assertDrained();
        fresh.free();
      }
    }
  }

  /** Whatever the rounds before have left in the ring, nothing of it may look like a record. */
  private void assertDrained() {
    assertTrue(reader.isEmpty());
    assertEquals(0, reader.poll(recorder, 1));
    assertNull(reader.corruption());
  }

  @Test
  void isFullWhenItIsFullAndTakesAllBackOnceRead() {
    for (int round = 0; round < 50; round++) {
      int size = round * 19 % MAX;
      List<Integer> written = new ArrayList<>();
      while (write(written.size(), size) == RingWriter.WRITTEN) {
        written.add(size);
      }
      assertTrue(written.size() >= 3, "only " + written.size() + " messages of " + size + " bytes");
      recorder.messages.clear();
      assertEquals(written.size(), reader.poll(recorder, 1000));
      for (int i = 0; i < written.size(); i++) {
        assertReceived(recorder.messages.get(i), i, size);
      }
      reader.reclaim();
      assertDrained();
    }
  }

  @Test
  void leavesZerosAtLineStartsAloneInWhatItGivesBack() {
    byte[] ones = new byte[MAX];
    Arrays.fill(ones, (byte) -1);
    MemorySegment payload = MemorySegment.ofArray(ones);
    for (int i = 0; i < 100; i++) {
      assertEquals(RingWriter.WRITTEN, writer.write(1, -1, payload, 0, i * 7 % MAX));
      writer.publish();
      assertEquals(1, reader.poll(recorder, 1));
      reader.reclaim();
      for (long line = 0; line < CAPACITY; line += LINE_BYTES) {
        assertEquals(0, ring.get(JAVA_LONG, line), "line at " + line + " after message " + i);
      }
    }
  }

  @Test
  void goesOnBehindAMessageWhoseListenerThrew() {
    assertEquals(RingWriter.WRITTEN, write(1, 500));
    assertEquals(RingWriter.WRITTEN, write(2, 20));
    var thrown =
        assertThrows(
            IllegalStateException.class,
            () -> reader.poll(new Thrower(), 16),
            "what a listener throws is its caller's to handle");
    assertEquals("thrown by the listener", thrown.getMessage());
    assertEquals(1, reader.poll(recorder, 16));
    assertReceived(recorder.messages.getFirst(), 2, 20);
    reader.reclaim();
    assertDrained();
  }

  private static final class Thrower implements EndpointListener {
    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      throw new IllegalStateException("thrown by the listener");
    }

    @Override
    public void onSent(long token) {
      throw new AssertionError("token " + token);
    }

    @Override
    public void onFailure(EndpointFailure cause) {
      throw new AssertionError(cause);
    }
  }

  @Test
  void neverBlocksAReaderThatReclaimsLate() {
    // Without the reclaim of an idle poll, space must still come back every quarter of the ring.
    for (int i = 0; i < 1000; i++) {
      assertEquals(RingWriter.WRITTEN, write(i, MAX), "message " + i);
      assertEquals(1, reader.poll(recorder, 1));
    }
  }

  @Test
  void stopsAtTheLimit() {
    for (int i = 0; i < 5; i++) {
      write(i, 8);
    }
    assertEquals(0, reader.poll(recorder, 0));
    assertEquals(2, reader.poll(recorder, 2));
    assertEquals(3, reader.poll(recorder, 16));
    assertEquals(0, reader.poll(recorder, 16));
    assertTrue(reader.isEmpty());
  }

  @Test
  void publishesNothingWhenTheSourceIsTooShort() {
    advanceTo(CAPACITY / LINE_BYTES - 1);
    MemorySegment tooShort = MemorySegment.ofArray(new byte[10]);
    try {
      writer.write(1, 1, tooShort, 0, 200);
      throw new AssertionError("wrote from beyond the source");
    } catch (IndexOutOfBoundsException expected) {
      assertEquals(0, reader.poll(recorder, 16), expected::toString);
    }
    assertEquals(RingWriter.WRITTEN, write(5, 200));
    assertEquals(1, reader.poll(recorder, 16));
    assertReceived(recorder.messages.getFirst(), 5, 200);
  }

  @Test
  void leavesNothingBehindOfASourceThatFailsHalfWay(@TempDir Path directory) throws IOException {
    int pageBytes = (int) Mapping.pageSizeBytes();
    Path path = directory.resolve("source");
    byte[] ones = new byte[2 * pageBytes];
    Arrays.fill(ones, (byte) -1);
    Files.write(path, ones);
    try (FileChannel file =
            FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
        Arena mapped = Arena.ofConfined()) {
      MemorySegment source = file.map(FileChannel.MapMode.READ_ONLY, 0, 2L * pageBytes, mapped);
      file.truncate(pageBytes);
      assertThrows(InternalError.class, () -> writer.write(1, 1, source, pageBytes - MAX / 2, MAX));
    }
    assertDrained();
    assertEquals(RingWriter.WRITTEN, write(5, 20));
    assertEquals(1, reader.poll(recorder, 16));
    assertReceived(recorder.messages.getFirst(), 5, 20);
    assertDrained();
  }

  @Test
  void refusesEveryCommitWordThatIsNoRecord() {
    List<Long> words = new ArrayList<>();
    words.add(1L);
    words.add(-1L);
    words.add(RecordLayout.commitWord(RecordLayout.MESSAGE, 0, MAX + 1));
    words.add(RecordLayout.commitWord(RecordLayout.MESSAGE, 0, 0xFFFF_FFFFL));
    words.add(RecordLayout.commitWord(RecordLayout.PADDING, 0, CAPACITY));
    words.add(RecordLayout.commitWord(RecordLayout.PADDING, 0, 0));
    words.add(RecordLayout.commitWord(RecordLayout.PADDING, 0, LINE_BYTES));
    words.add(RecordLayout.commitWord(0x526403, 0, 8));
    words.add(RecordLayout.commitWord(0, 0, 8));
    for (long word : words) {
      assertCorrupt(0, word);
    }
    int last = CAPACITY / LINE_BYTES - 1;
    assertCorrupt(last, RecordLayout.commitWord(RecordLayout.MESSAGE, 0, 49));
    assertCorrupt(last, RecordLayout.commitWord(RecordLayout.PADDING, 0, 2 * LINE_BYTES));
    assertCorrupt(last, RecordLayout.commitWord(RecordLayout.PADDING, 0, LINE_BYTES + 1));
  }

  private static void assertCorrupt(int line, long word) {
    RingTest fresh = new RingTest();
    fresh.advanceTo(line);
    WORD.setRelease(fresh.ring, (long) line * LINE_BYTES, word);
    assertEquals(0, fresh.reader.poll(fresh.recorder, 16));
    String corruption = fresh.reader.corruption();
    assertNotNull(corruption, () -> "accepted 0x" + Long.toHexString(word));
    assertTrue(corruption.contains(Long.toHexString(word)), corruption);
    assertEquals(0, fresh.reader.poll(fresh.recorder, 16), "nothing is read after that");
    fresh.free();
  }

  @Test
  void survivesAnyDamageToTheSharedMemory() {
    long seed = new SplittableRandom().nextLong();
    SplittableRandom random = new SplittableRandom(seed);
    for (int round = 0; round < 20_000; round++) {
      RingTest fresh = new RingTest();
      for (int i = 0; i < 3; i++) {
        fresh.write(i, random.nextInt(MAX + 1));
      }
      for (int i = 0; i < 4; i++) {
        long offset = random.nextInt(CAPACITY / 8) * 8L;
        fresh.ring.set(JAVA_LONG, offset, damage(random, fresh.ring.get(JAVA_LONG, offset)));
      }
      WORD.setRelease(fresh.consumer, 0L, random.nextLong() >> random.nextInt(64));
      try {
        fresh.reader.poll(fresh.recorder, 1000);
        int result = RingWriter.WRITTEN;
        for (int i = 0; i < 20 && result == RingWriter.WRITTEN; i++) {
          result = fresh.write(i, random.nextInt(MAX + 1));
        }
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed + ", round " + round, e);
      }
      fresh.free();
    }
  }

  private static long damage(SplittableRandom random, long word) {
    return switch (random.nextInt(3)) {
      case 0 -> word ^ 1L << random.nextInt(64);
      case 1 -> random.nextLong();
      default -> RecordLayout.commitWord(RecordLayout.MESSAGE, 0, random.nextInt(2 * CAPACITY));
    };
  }

  @Test
  void refusesEveryConsumerPositionThatCannotBe() {
    for (long position : List.of(-64L, 1L, 63L, 65L, (long) CAPACITY + 64, Long.MIN_VALUE)) {
      RingTest fresh = new RingTest();
      while (fresh.write(0, MAX) == RingWriter.WRITTEN) {
        // Until the writer must look at the position.
      }
      WORD.setRelease(fresh.consumer, 0L, position);
      assertEquals(RingWriter.CORRUPT, fresh.write(0, MAX), "position " + position);
      String corruption = fresh.writer.corruption();
      assertTrue(corruption.contains(Long.toString(position)), corruption);
      fresh.free();
    }
  }

  @Test
  void carriesARandomStreamBetweenTwoThreads() throws Exception {
    long seed = new SplittableRandom().nextLong();
    int count = 300_000;
    var sender = new FutureTask<>(() -> sendStream(new SplittableRandom(seed), count));
    Thread.ofPlatform().daemon().start(sender);
    StreamReader stream = new StreamReader(seed);
    SplittableRandom limits = new SplittableRandom(seed + 1);
    while (stream.received < count) {
      if (reader.poll(stream, 1 + limits.nextInt(20)) == 0) {
        reader.reclaim();
        LockSupport.parkNanos(1);
      }
      assertNull(reader.corruption(), () -> "seed " + seed);
    }
    assertTrue(sender.get(10, TimeUnit.SECONDS));
    reader.reclaim();
    assertDrained();
  }

  private boolean sendStream(SplittableRandom random, int count) {
    MemorySegment payload = MemorySegment.ofArray(new byte[MAX]);
    for (int i = 0; i < count; i++) {
      int lengthBytes = lengthBytes(random);
      byte fill = (byte) random.nextInt();
      payload.asSlice(0, lengthBytes).fill(fill);
      int result;
      while ((result = writer.write(i & 0xFF, i, payload, 0, lengthBytes)) == RingWriter.FULL) {
        LockSupport.parkNanos(1);
      }
      if (result != RingWriter.WRITTEN) {
        throw new AssertionError(writer.corruption());
      }
      if (i % 7 == 0) {
        writer.publish();
      }
    }
    writer.publish();
    return true;
  }

  /** Mostly small, sometimes anything. */
  private static int lengthBytes(SplittableRandom random) {
    return random.nextInt(8) == 0 ? random.nextInt(MAX + 1) : random.nextInt(3 * LINE_BYTES);
  }

  private static final class StreamReader implements EndpointListener {
    private final long seed;
    private final SplittableRandom random;
    private int received;

    StreamReader(long seed) {
      this.seed = seed;
      this.random = new SplittableRandom(seed);
    }

    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      int expectedBytes = lengthBytes(random);
      byte fill = (byte) random.nextInt();
      boolean intact =
          type == (received & 0xFF)
              && correlationId == received
              && lengthBytes == expectedBytes
              && offset % LINE_BYTES == HEADER_BYTES;
      for (int i = 0; intact && i < lengthBytes; i++) {
        intact = memory.get(JAVA_BYTE, offset + i) == fill;
      }
      if (!intact) {
        throw new AssertionError("seed " + seed + ": message " + received + " is damaged");
      }
      received++;
    }

    @Override
    public void onSent(long token) {
      throw new AssertionError("token " + token);
    }

    @Override
    public void onFailure(EndpointFailure cause) {
      throw new AssertionError(cause);
    }
  }
}
