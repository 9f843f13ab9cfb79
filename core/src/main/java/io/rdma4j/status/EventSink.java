package io.rdma4j.status;

/**
 * Takes events from the parts of the library that see them.
 *
 * <p>Safe for use by several threads, never blocks on a device, and never throws: a part that tells
 * of trouble must not get into more of it. Not for data paths: an event is made when something
 * fails or changes.
 */
@FunctionalInterface
public interface EventSink {
  /** Forgets all events. */
  EventSink NONE = (kind, subject, code, vendorError, value, text) -> {};

  /** Takes one event; the parameters are those of {@link Event}. */
  void emit(
      EventKind kind, EventSubject subject, int code, int vendorError, long value, String text);

  /** Takes an event whose kind and text say all. */
  default void emit(EventKind kind, EventSubject subject, String text) {
    emit(kind, subject, 0, 0, 0, text);
  }
}
