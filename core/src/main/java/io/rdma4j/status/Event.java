package io.rdma4j.status;

/**
 * Something that happened once: to a device, a queue pair, a connection, the memory.
 *
 * <p>Immutable.
 *
 * @param sequence number within its journal, from 1
 * @param timeNs nanoseconds since the epoch, by the clock of the wall
 * @param monotonicNs by the clock that only goes forward, to tell how far apart events of one
 *     process are
 * @param kind what happened
 * @param subject to what
 * @param code the number that goes with the kind: completion status, errno, raw event number; 0
 *     when there is none
 * @param vendorError what the device says beside the status; 0 when nothing
 * @param value the count or measure that goes with the kind; 0 when there is none
 * @param text one line in words; empty when the kind says all
 */
public record Event(
    long sequence,
    long timeNs,
    long monotonicNs,
    EventKind kind,
    EventSubject subject,
    int code,
    int vendorError,
    long value,
    String text) {

  /** Returns the event in one line, without its time. */
  public String inWords() {
    StringBuilder words = new StringBuilder(kind.text());
    String about = subject.toString();
    if (!about.isEmpty()) {
      words.append(" (").append(about).append(')');
    }
    if (!text.isEmpty()) {
      words.append(": ").append(text);
    }
    return words.toString();
  }
}
