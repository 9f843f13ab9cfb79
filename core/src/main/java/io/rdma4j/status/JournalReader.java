package io.rdma4j.status;

import static io.rdma4j.status.JournalLayout.INT;
import static io.rdma4j.status.JournalLayout.LONG;
import static io.rdma4j.status.JournalLayout.SHORT;
import static io.rdma4j.status.JournalLayout.SLOT_BYTES;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads a journal file, whether its process lives, has ended, or was killed in the middle of a
 * record. What can not be read is counted and left out.
 */
public final class JournalReader {
  /** Beyond any journal that was made on purpose. */
  private static final long MAX_FILE_BYTES = 1L << 30;

  private record Slot(long sequence, short type, int part, int parts, byte[] payload) {}

  private final List<Event> events = new ArrayList<>();
  private final Map<Long, Incident> incidents = new LinkedHashMap<>();
  private long torn;
  private long cut;
  private long unknown;

  private JournalReader() {}

  /**
   * Reads everything that is in a file.
   *
   * @throws IOException when there is no such file, or it is not a journal
   */
  public static JournalContents read(Path path) throws IOException {
    long sizeBytes = Files.size(path);
    if (sizeBytes < 2 * SLOT_BYTES || sizeBytes > MAX_FILE_BYTES) {
      throw new IOException(path + " is no journal: it has " + sizeBytes + " bytes");
    }
    MemorySegment file = MemorySegment.ofArray(Files.readAllBytes(path));
    return read(file, checkHeader(path, file));
  }

  /** Reads a file that lies in memory, or is mapped. */
  static JournalContents read(MemorySegment file, long slots) {
    return new JournalReader().contents(file, slots);
  }

  /** Returns the number of slots. */
  static long checkHeader(Path path, MemorySegment file) throws IOException {
    if (file.get(LONG, JournalLayout.HEADER_MAGIC) != JournalLayout.MAGIC
        || file.get(INT, JournalLayout.HEADER_CHECKSUM) != JournalLayout.headerChecksum(file)) {
      throw new IOException(path + " is no journal: its header is something else");
    }
    int version = file.get(INT, JournalLayout.HEADER_VERSION);
    int slotBytes = file.get(INT, JournalLayout.HEADER_SLOT_BYTES);
    long slots = file.get(LONG, JournalLayout.HEADER_SLOTS);
    if (version != JournalLayout.VERSION || slotBytes != SLOT_BYTES) {
      throw new IOException(
          "%s is a journal of version %d with slots of %d bytes; this program reads version %d"
              .formatted(path, version, slotBytes, JournalLayout.VERSION));
    }
    if (slots < 1 || slots > file.byteSize() / SLOT_BYTES - 1) {
      throw new IOException(
          "%s has %d bytes, too few for its %d slots: it was cut short"
              .formatted(path, file.byteSize(), slots));
    }
    return slots;
  }

  private JournalContents contents(MemorySegment file, long slots) {
    List<Slot> whole = new ArrayList<>();
    for (long i = 1; i <= slots; i++) {
      MemorySegment slot = file.asSlice(i * SLOT_BYTES, SLOT_BYTES);
      long sequence = slot.get(LONG, JournalLayout.SEQUENCE);
      if (!JournalLayout.isWhole(slot)) {
        torn += sequence == 0 && slot.get(INT, JournalLayout.CHECKSUM) == 0 ? 0 : 1;
      } else if (sequence > 0) {
        whole.add(slot(slot, sequence));
      }
    }
    whole.sort(Comparator.comparingLong(Slot::sequence));
    assemble(whole);
    return new JournalContents(
        events,
        List.copyOf(incidents.values()),
        file.get(LONG, JournalLayout.HEADER_CREATED),
        torn,
        cut,
        unknown);
  }

  private static Slot slot(MemorySegment slot, long sequence) {
    return new Slot(
        sequence,
        slot.get(SHORT, JournalLayout.TYPE),
        Byte.toUnsignedInt(slot.get(JAVA_BYTE, JournalLayout.PART)),
        Byte.toUnsignedInt(slot.get(JAVA_BYTE, JournalLayout.PARTS)),
        slot.asSlice(JournalLayout.PAYLOAD, slot.get(INT, JournalLayout.LENGTH))
            .toArray(JAVA_BYTE));
  }

  /** Puts the parts of each record together. */
  private void assemble(List<Slot> whole) {
    int next = 0;
    while (next < whole.size()) {
      Slot first = whole.get(next);
      ByteArrayOutputStream record = new ByteArrayOutputStream();
      int parts = 0;
      while (next < whole.size() && continues(first, parts, whole.get(next))) {
        record.writeBytes(whole.get(next).payload);
        next++;
        parts++;
      }
      if (parts == first.parts && parts > 0) {
        decode(first.type, record.toByteArray());
      } else {
        cut++;
        next += parts == 0 ? 1 : 0;
      }
    }
  }

  private static boolean continues(Slot first, int parts, Slot slot) {
    return slot.sequence == first.sequence + parts
        && slot.part == parts
        && slot.parts == first.parts
        && slot.type == first.type
        && parts < first.parts;
  }

  private void decode(short type, byte[] record) {
    try {
      switch (type) {
        case JournalLayout.TYPE_EVENT -> events.add(JournalCodec.event(record));
        case JournalLayout.TYPE_INCIDENT -> {
          Incident incident = JournalCodec.incident(record);
          incidents.put(incident.id(), incident);
        }
        default -> unknown++;
      }
    } catch (IOException | IllegalArgumentException e) {
      // The checksum holds, so this was written by a version whose records are different.
      unknown++;
    }
  }
}
