package io.rdma4j.provider.verbs;

import io.rdma4j.VerbsException;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSink;
import io.rdma4j.status.EventSubject;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.CmEvent;
import org.jspecify.annotations.Nullable;

/** Tells the journal what a device and rdma_cm announce, in its own words. Any thread. */
final class DeviceEvents {
  private final String device;
  private final EventSink sink;

  DeviceEvents(String device, EventSink sink) {
    this.device = device;
    this.sink = sink;
  }

  EventSink sink() {
    return sink;
  }

  /**
   * Tells of an asynchronous event.
   *
   * @param concerned the endpoint that uses the object it names; null for events of ports and
   *     devices, and when the object is gone
   */
  void tell(AsyncEvent event, @Nullable VerbsEndpoint concerned) {
    EventKind kind = EventKind.ofDeviceEvent(event.rawType());
    if (concerned == null) {
      EventSubject subject = EventSubject.device(device, event.port());
      sink.emit(kind, subject, event.rawType(), 0, 0, textOf(kind, event));
    } else {
      String text = kind == EventKind.CQ_ERR ? concerned.load() : "";
      sink.emit(kind, concerned.subject(), event.rawType(), 0, 0, text);
    }
  }

  private static String textOf(EventKind kind, AsyncEvent event) {
    if (kind == EventKind.UNKNOWN_DEVICE_EVENT) {
      return "event number " + event.rawType() + " of the device, unknown to this version";
    }
    boolean ofObject = event.port() == 0 && kind != EventKind.DEVICE_FATAL;
    return ofObject ? "of an object that no connection uses" : "";
  }

  /** Tells of a call on the device that failed. */
  void callFailed(VerbsException failure) {
    sink.emit(
        EventKind.VERBS_CALL_FAILED,
        EventSubject.device(device, 0),
        failure.errno(),
        0,
        0,
        String.valueOf(failure.getMessage()));
  }

  /** Tells of memory that the device refused to register. */
  void registrationFailed(VerbsException failure, long lengthBytes) {
    sink.emit(
        EventKind.REGISTRATION_FAILED,
        EventSubject.device(device, 0),
        failure.errno(),
        0,
        lengthBytes,
        String.valueOf(failure.getMessage()));
  }

  /** Tells of an event of rdma_cm that ends a connection. */
  void tell(CmEvent event, EventSubject subject) {
    switch (event.type()) {
      case DISCONNECTED -> tell(EventKind.CM_DISCONNECTED, subject, event.status());
      case DEVICE_REMOVAL -> tell(EventKind.CM_DEVICE_REMOVAL, subject, event.status());
      case ADDR_CHANGE -> tell(EventKind.CM_ADDR_CHANGE, subject, event.status());
      default -> {
        // Time-wait and the like do not concern an established connection.
      }
    }
  }

  private void tell(EventKind kind, EventSubject subject, int status) {
    sink.emit(kind, subject, status, 0, 0, "");
  }
}
