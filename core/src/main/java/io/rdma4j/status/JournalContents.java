package io.rdma4j.status;

import java.util.List;

/**
 * What a journal file holds.
 *
 * <p>Immutable.
 *
 * @param events all events still there, oldest first
 * @param incidents the last picture of each incident still there, oldest first
 * @param createdNs when the file was made, nanoseconds since the epoch
 * @param torn slots that were half written, by a process that was killed or is writing now
 * @param cut records whose beginning or end is gone: overwritten, or torn
 * @param unknown records of a type that this version does not know
 */
public record JournalContents(
    List<Event> events,
    List<Incident> incidents,
    long createdNs,
    long torn,
    long cut,
    long unknown) {

  /** Copies the lists. */
  public JournalContents {
    events = List.copyOf(events);
    incidents = List.copyOf(incidents);
  }
}
