package io.rdma4j.status;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Events and incidents as the records of a journal: their components in order, numbers big endian,
 * a text as its length in two bytes and its UTF-8, a list as its count in two bytes and its
 * elements. Later versions add components at the end, which earlier ones do not read.
 *
 * <p>Texts and lists are cut at limits, so that a record fits into its file.
 */
final class JournalCodec {
  private static final int MAX_TEXT_BYTES = 1000;
  private static final int MAX_LIST = 32;
  private static final int MAX_COUNTERS = 128;
  private static final int MAX_CONNECTIONS = 1024;

  @FunctionalInterface
  private interface Writer {
    void write(DataOutputStream out) throws IOException;
  }

  @FunctionalInterface
  private interface Reader<T> {
    T read(DataInputStream in) throws IOException;
  }

  private JournalCodec() {}

  static byte[] bytes(Event event) {
    return bytes(out -> write(out, event));
  }

  static byte[] bytes(Incident incident) {
    return bytes(out -> write(out, incident));
  }

  static Event event(byte[] record) throws IOException {
    return event(new DataInputStream(new ByteArrayInputStream(record)));
  }

  static Incident incident(byte[] record) throws IOException {
    return incident(new DataInputStream(new ByteArrayInputStream(record)));
  }

  private static byte[] bytes(Writer writer) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(512);
    try {
      writer.write(new DataOutputStream(bytes));
    } catch (IOException e) {
      throw new UncheckedIOException("an array does not fail", e);
    }
    return bytes.toByteArray();
  }

  private static void write(DataOutputStream out, Event event) throws IOException {
    out.writeLong(event.sequence());
    out.writeLong(event.timeNs());
    out.writeLong(event.monotonicNs());
    out.writeShort(event.kind().code());
    write(out, event.subject());
    out.writeInt(event.code());
    out.writeInt(event.vendorError());
    out.writeLong(event.value());
    text(out, event.text());
  }

  private static Event event(DataInputStream in) throws IOException {
    return new Event(
        in.readLong(),
        in.readLong(),
        in.readLong(),
        EventKind.of(in.readUnsignedShort()),
        subject(in),
        in.readInt(),
        in.readInt(),
        in.readLong(),
        text(in));
  }

  private static void write(DataOutputStream out, EventSubject subject) throws IOException {
    text(out, subject.device());
    out.writeInt(subject.port());
    out.writeInt(subject.queuePair());
    out.writeLong(subject.connection());
    text(out, subject.peer());
  }

  private static EventSubject subject(DataInputStream in) throws IOException {
    return new EventSubject(text(in), in.readInt(), in.readInt(), in.readLong(), text(in));
  }

  private static void write(DataOutputStream out, Incident incident) throws IOException {
    out.writeLong(incident.id());
    out.writeInt(incident.revision());
    text(out, incident.state().name());
    out.writeLong(incident.openedNs());
    out.writeLong(incident.updatedNs());
    write(out, incident.subject());
    List<Long> connections = firstOf(incident.connections(), MAX_CONNECTIONS);
    out.writeShort(connections.size());
    for (long connection : connections) {
      out.writeLong(connection);
    }
    out.writeShort(incident.events().size());
    for (Event event : incident.events()) {
      write(out, event);
    }
    out.writeLong(incident.moreEvents());
    out.writeLong(incident.flushedRequests());
    List<Cause> causes = firstOf(incident.causes(), MAX_LIST);
    out.writeShort(causes.size());
    for (Cause cause : causes) {
      write(out, cause);
    }
    List<CounterWindow> windows = firstOf(incident.counters(), MAX_LIST);
    out.writeShort(windows.size());
    for (CounterWindow window : windows) {
      write(out, window);
    }
  }

  private static Incident incident(DataInputStream in) throws IOException {
    return new Incident(
        in.readLong(),
        in.readInt(),
        Incident.State.valueOf(text(in)),
        in.readLong(),
        in.readLong(),
        subject(in),
        list(in, DataInputStream::readLong),
        list(in, JournalCodec::event),
        in.readLong(),
        in.readLong(),
        list(in, JournalCodec::cause),
        list(in, JournalCodec::window));
  }

  private static void write(DataOutputStream out, Cause cause) throws IOException {
    text(out, cause.id());
    text(out, cause.title());
    text(out, cause.confidence().name());
    texts(out, cause.evidence());
    texts(out, cause.missing());
    texts(out, cause.inseparableFrom());
    text(out, cause.nextStep());
  }

  private static Cause cause(DataInputStream in) throws IOException {
    return new Cause(
        text(in),
        text(in),
        Cause.Confidence.valueOf(text(in)),
        list(in, JournalCodec::text),
        list(in, JournalCodec::text),
        list(in, JournalCodec::text),
        text(in));
  }

  private static void write(DataOutputStream out, CounterWindow window) throws IOException {
    text(out, window.device());
    out.writeInt(window.port());
    out.writeLong(window.fromNs());
    out.writeLong(window.toNs());
    List<Map.Entry<String, Long>> rows =
        firstOf(List.copyOf(window.increases().entrySet()), MAX_COUNTERS);
    out.writeShort(rows.size());
    for (Map.Entry<String, Long> row : rows) {
      text(out, row.getKey());
      out.writeLong(row.getValue());
    }
    out.writeInt(window.unmoved());
    texts(out, window.unreadable());
    out.writeBoolean(window.cleared());
  }

  private static CounterWindow window(DataInputStream in) throws IOException {
    String device = text(in);
    int port = in.readInt();
    long fromNs = in.readLong();
    long toNs = in.readLong();
    TreeMap<String, Long> increases = new TreeMap<>();
    for (int rows = in.readUnsignedShort(); rows > 0; rows--) {
      increases.put(text(in), in.readLong());
    }
    return new CounterWindow(
        device,
        port,
        fromNs,
        toNs,
        increases,
        in.readInt(),
        list(in, JournalCodec::text),
        in.readBoolean());
  }

  private static void texts(DataOutputStream out, List<String> texts) throws IOException {
    List<String> some = firstOf(texts, MAX_LIST);
    out.writeShort(some.size());
    for (String text : some) {
      text(out, text);
    }
  }

  private static <T> List<T> list(DataInputStream in, Reader<T> reader) throws IOException {
    List<T> list = new ArrayList<>();
    for (int count = in.readUnsignedShort(); count > 0; count--) {
      list.add(reader.read(in));
    }
    return list;
  }

  private static <T> List<T> firstOf(List<T> list, int most) {
    return list.size() <= most ? list : list.subList(0, most);
  }

  private static void text(DataOutputStream out, String text) throws IOException {
    byte[] bytes = text.getBytes(UTF_8);
    int length = Math.min(bytes.length, MAX_TEXT_BYTES);
    while (length < bytes.length && length > 0 && (bytes[length] & 0xc0) == 0x80) {
      length--; // not in the middle of a character
    }
    out.writeShort(length);
    out.write(bytes, 0, length);
  }

  private static String text(DataInputStream in) throws IOException {
    byte[] bytes = new byte[in.readUnsignedShort()];
    in.readFully(bytes);
    return new String(bytes, UTF_8);
  }
}
