package io.rdma4j.status;

import static io.rdma4j.status.JournalLayout.INT;
import static io.rdma4j.status.JournalLayout.LONG;
import static io.rdma4j.status.JournalLayout.SHORT;
import static io.rdma4j.status.JournalLayout.SLOT_BYTES;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * The writing end of a journal file, mapped: what was written is in the file when the process is
 * killed. One process writes at a time, which a lock on the file ensures; anybody may read.
 *
 * <p>Not thread-safe. {@link JournalLayout} draws the file.
 */
final class JournalFile implements AutoCloseable {
  private static final int ZEROES_BYTES = 1 << 16;

  private final Arena arena = Arena.ofShared();
  private final FileChannel channel;
  private final MemorySegment memory;
  private final long slots;
  private long written;

  /**
   * Opens a journal, or makes one.
   *
   * @param sizeBytes of a new file, rounded down to whole slots; a file that exists keeps its size
   * @throws IOException when the file is not a journal, when another process writes it, or when
   *     there is no room for all of it
   */
  JournalFile(Path path, long sizeBytes, long nowNs) throws IOException {
    channel =
        FileChannel.open(
            path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
    try {
      lock(path);
      if (channel.size() == 0) {
        reserve(path, sizeBytes / SLOT_BYTES * SLOT_BYTES);
      }
      if (channel.size() < 2 * SLOT_BYTES) {
        throw new IOException(path + " is no journal: it has " + channel.size() + " bytes");
      }
      memory = channel.map(MapMode.READ_WRITE, 0, channel.size(), arena);
      if (memory.get(LONG, JournalLayout.HEADER_MAGIC) == 0) {
        writeHeader(nowNs);
      }
      slots = JournalReader.checkHeader(path, memory);
      written = lastSequence();
    } catch (IOException | RuntimeException e) {
      arena.close();
      channel.close();
      throw e;
    }
  }

  /** Held until the channel is closed. */
  private void lock(Path path) throws IOException {
    try {
      FileLock lock = channel.tryLock();
      if (lock == null) {
        throw new IOException("another process writes the journal " + path + "; name another file");
      }
    } catch (OverlappingFileLockException e) {
      throw new IOException(
          "this process writes the journal " + path + " already; give each node its own file", e);
    }
  }

  /**
   * Writes zeroes: a file with holes can be mapped and written when the disk is full, and that
   * kills the process.
   */
  private void reserve(Path path, long sizeBytes) throws IOException {
    if (sizeBytes < 2 * SLOT_BYTES) {
      throw new IOException("a journal needs " + 2 * SLOT_BYTES + " bytes or more: " + path);
    }
    ByteBuffer zeroes = ByteBuffer.allocateDirect(ZEROES_BYTES);
    try {
      for (long at = 0; at < sizeBytes; ) {
        zeroes.clear().limit((int) Math.min(ZEROES_BYTES, sizeBytes - at));
        at += channel.write(zeroes, at);
      }
    } catch (IOException e) {
      channel.truncate(0);
      throw new IOException(
          "no room for the journal %s of %d bytes: %s".formatted(path, sizeBytes, e.getMessage()),
          e);
    }
  }

  private void writeHeader(long nowNs) {
    memory.set(INT, JournalLayout.HEADER_VERSION, JournalLayout.VERSION);
    memory.set(INT, JournalLayout.HEADER_SLOT_BYTES, SLOT_BYTES);
    memory.set(LONG, JournalLayout.HEADER_SLOTS, memory.byteSize() / SLOT_BYTES - 1);
    memory.set(LONG, JournalLayout.HEADER_CREATED, nowNs);
    memory.set(LONG, JournalLayout.HEADER_MAGIC, JournalLayout.MAGIC);
    memory.set(INT, JournalLayout.HEADER_CHECKSUM, JournalLayout.headerChecksum(memory));
  }

  /** Returns what is in the file; not by its name, for closing a second channel ends the lock. */
  JournalContents contents() {
    return JournalReader.read(memory, slots);
  }

  private long lastSequence() {
    long last = 0;
    for (long slot = 0; slot < slots; slot++) {
      MemorySegment at = slot(slot);
      long sequence = at.get(LONG, JournalLayout.SEQUENCE);
      if (sequence > last && JournalLayout.isWhole(at)) {
        last = sequence;
      }
    }
    return last;
  }

  private MemorySegment slot(long index) {
    return memory.asSlice((index + 1) * SLOT_BYTES, SLOT_BYTES);
  }

  /**
   * Writes a record into as many slots as it takes.
   *
   * @throws IllegalArgumentException when it is longer than a record, or the file, may be
   */
  void append(short type, byte[] record) {
    int parts = Math.max(1, Math.ceilDiv(record.length, JournalLayout.PAYLOAD_BYTES));
    if (record.length > JournalLayout.MAX_RECORD_BYTES || parts > slots) {
      throw new IllegalArgumentException(
          "a record of %d bytes; this journal takes %d"
              .formatted(
                  record.length,
                  Math.min(JournalLayout.MAX_RECORD_BYTES, slots * JournalLayout.PAYLOAD_BYTES)));
    }
    for (int part = 0; part < parts; part++) {
      int from = part * JournalLayout.PAYLOAD_BYTES;
      int lengthBytes = Math.min(JournalLayout.PAYLOAD_BYTES, record.length - from);
      MemorySegment slot = slot(written % slots);
      written++;
      slot.set(LONG, JournalLayout.SEQUENCE, written);
      slot.set(SHORT, JournalLayout.TYPE, type);
      slot.set(JAVA_BYTE, JournalLayout.PART, (byte) part);
      slot.set(JAVA_BYTE, JournalLayout.PARTS, (byte) parts);
      slot.set(INT, JournalLayout.LENGTH, lengthBytes);
      MemorySegment.copy(record, from, slot, JAVA_BYTE, JournalLayout.PAYLOAD, lengthBytes);
      slot.set(INT, JournalLayout.CHECKSUM, JournalLayout.checksum(slot, lengthBytes));
    }
  }

  @Override
  public void close() throws IOException {
    arena.close();
    channel.close();
  }
}
