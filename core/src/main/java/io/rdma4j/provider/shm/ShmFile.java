package io.rdma4j.provider.shm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.rdma4j.os.Mapping;
import io.rdma4j.os.SharedFile;
import io.rdma4j.provider.EndpointConfig;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/**
 * The mapped file of one connection: a header and one ring per direction.
 *
 * <p>Owned by the endpoint; {@link #close} ends the mapping. The header is written once by the
 * initiator before the acceptor maps it. Words that change lie 128 bytes apart, because the
 * adjacent-line prefetcher pairs lines.
 *
 * <pre>
 *     0   8  magic "RDMA4JSM"
 *     8   4  version
 *    12   4  largest message, bytes
 *    16   8  ring, bytes
 *    24   8  unused
 *    32  16  token of the connection
 *   128   8  initiator has closed: 1
 *   256   8  acceptor has closed: 1
 *   384   8  consumer position of ring 0, written by the acceptor
 *   512   8  consumer position of ring 1, written by the initiator
 *   640   8  initiator sleeps: 1; set and cleared by it, cleared by who wakes it
 *   768   8  acceptor sleeps: 1
 *  4096      ring 0, initiator to acceptor
 *  4096 + r  ring 1, acceptor to initiator
 * </pre>
 */
final class ShmFile implements AutoCloseable {
  private static final long MAGIC = 0x4d534a344d414452L;
  private static final int VERSION = 1;
  private static final long VERSION_AT = 8;
  private static final long MAX_MESSAGE_AT = 12;
  private static final long RING_BYTES_AT = 16;
  private static final long TOKEN_AT = 32;
  private static final int TOKEN_BYTES = 16;
  private static final long CLOSED_AT = 128;
  private static final long CONSUMER_AT = 384;
  private static final long SLEEPS_AT = 640;
  private static final long APART_BYTES = 128;
  private static final long RINGS_AT = 4096;

  private final Mapping mapping;
  private final MemorySegment memory;
  private final long ringBytes;
  private final int side;

  private ShmFile(Mapping mapping, long ringBytes, int side) {
    this.mapping = mapping;
    this.memory = mapping.segment();
    this.ringBytes = ringBytes;
    this.side = side;
  }

  /**
   * Returns the bytes of one ring: a power of two that holds four of the largest records, so that a
   * record and the padding before it always fit once the consumer has caught up to within a
   * quarter.
   */
  static long ringBytes(EndpointConfig config) {
    long wanted =
        Math.max(config.ringBytes(), 4 * RecordLayout.recordBytes(config.maxMessageBytes()));
    return Math.max(RINGS_AT, Long.highestOneBit(wanted - 1) << 1);
  }

  /** Returns the bytes of the whole file. */
  static long fileBytes(EndpointConfig config) {
    return RINGS_AT + 2 * ringBytes(config);
  }

  /** Maps a new file and writes its header. */
  static ShmFile initiate(SharedFile file, EndpointConfig config, byte[] token) throws IOException {
    ShmFile mapped = map(file, config, 0);
    mapped.memory.set(JAVA_INT, VERSION_AT, VERSION);
    mapped.memory.set(JAVA_INT, MAX_MESSAGE_AT, config.maxMessageBytes());
    mapped.memory.set(JAVA_LONG, RING_BYTES_AT, mapped.ringBytes);
    MemorySegment.copy(token, 0, mapped.memory, JAVA_BYTE, TOKEN_AT, TOKEN_BYTES);
    RecordLayout.WORD.setRelease(mapped.memory, 0L, MAGIC);
    return mapped;
  }

  /** Maps the peer's file and checks that its header is the one agreed on. */
  static ShmFile accept(SharedFile file, EndpointConfig config, byte[] token) throws IOException {
    ShmFile mapped = map(file, config, 1);
    try {
      mapped.validate(config, token);
      return mapped;
    } catch (IOException | RuntimeException e) {
      mapped.close();
      throw e;
    }
  }

  private static ShmFile map(SharedFile file, EndpointConfig config, int side) throws IOException {
    long expectedBytes = fileBytes(config);
    if (file.lengthBytes() != expectedBytes) {
      throw new IOException(
          "ring file has " + file.lengthBytes() + " bytes, " + expectedBytes + " were agreed on");
    }
    return new ShmFile(file.map(), ringBytes(config), side);
  }

  private void validate(EndpointConfig config, byte[] token) throws IOException {
    long magic = (long) RecordLayout.WORD.getAcquire(memory, 0L);
    int version = memory.get(JAVA_INT, VERSION_AT);
    int maxMessageBytes = memory.get(JAVA_INT, MAX_MESSAGE_AT);
    long fileRingBytes = memory.get(JAVA_LONG, RING_BYTES_AT);
    if (magic != MAGIC || version != VERSION) {
      throw new IOException(
          "not a ring file of version "
              + VERSION
              + ": magic 0x"
              + Long.toHexString(magic)
              + ", version "
              + version);
    }
    if (maxMessageBytes != config.maxMessageBytes() || fileRingBytes != ringBytes) {
      throw new IOException(
          "ring file is for messages of "
              + maxMessageBytes
              + " and rings of "
              + fileRingBytes
              + " bytes, agreed were "
              + config.maxMessageBytes()
              + " and "
              + ringBytes);
    }
    byte[] fileToken = memory.asSlice(TOKEN_AT, TOKEN_BYTES).toArray(JAVA_BYTE);
    if (!Arrays.equals(fileToken, token)) {
      throw new IOException("ring file belongs to another connection: its token differs");
    }
  }

  /** Returns the producing end of this side's ring. */
  RingWriter writer() {
    return new RingWriter(ring(side), word(CONSUMER_AT + side * APART_BYTES));
  }

  /** Returns the consuming end of the peer's ring. */
  RingReader reader(int maxMessageBytes) {
    int peer = 1 - side;
    return new RingReader(ring(peer), word(CONSUMER_AT + peer * APART_BYTES), maxMessageBytes);
  }

  /** Returns the peer's closed flag. */
  MemorySegment peerClosedFlag() {
    return word(CLOSED_AT + (1 - side) * APART_BYTES);
  }

  /** Returns this side's word that says whether its polling thread sleeps. */
  MemorySegment sleepsFlag() {
    return word(SLEEPS_AT + side * APART_BYTES);
  }

  /** Returns the peer's such word. */
  MemorySegment peerSleepsFlag() {
    return word(SLEEPS_AT + (1 - side) * APART_BYTES);
  }

  private MemorySegment ring(int index) {
    return memory.asSlice(RINGS_AT + index * ringBytes, ringBytes);
  }

  private MemorySegment word(long offset) {
    return memory.asSlice(offset, Long.BYTES);
  }

  /** Returns all of it, for tests that damage it. */
  MemorySegment memory() {
    return memory;
  }

  /** Tells the peer that nothing follows, then ends the mapping; idempotent. */
  @Override
  public void close() {
    if (memory.scope().isAlive()) {
      RecordLayout.WORD.setRelease(memory, CLOSED_AT + side * APART_BYTES, 1L);
      mapping.close();
    }
  }
}
