package io.rdma4j.provider.verbs;

import io.rdma4j.VerbsException;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * What ends an endpoint other than a completion: events of its device and of rdma_cm, and calls
 * that fail. The first report is the cause; the polling thread acts on it.
 *
 * <p>Safe for use by several threads.
 */
final class EndpointEvents {
  private final DeviceContext context;
  private final CmId id;
  private final EventSubject subject;
  private final AtomicReference<@Nullable EndpointFailure> trouble = new AtomicReference<>();
  private final Object lock = new Object();
  private boolean closed;

  EndpointEvents(DeviceContext context, CmId id, EventSubject subject) {
    this.context = context;
    this.id = id;
    this.subject = subject;
  }

  /** Notes why the endpoint has to end, unless there is a reason already. */
  void report(EndpointFailure failure) {
    trouble.compareAndSet(null, failure);
  }

  /** Notes a call on the device that failed. */
  void report(RuntimeException failedCall) {
    report(new EndpointFailure(Kind.DEVICE, String.valueOf(failedCall.getMessage())));
  }

  /** Notes how the peer has ended; its goodbye explains a disconnect that was seen before. */
  void reportPeersEnd(EndpointFailure end) {
    boolean explains = end.kind() == Kind.PEER_CLOSED;
    trouble.updateAndGet(
        before -> before == null || (explains && before.kind() == Kind.PEER_LOST) ? end : before);
  }

  /** Returns the first report, null while there is none. */
  @Nullable EndpointFailure trouble() {
    return trouble.get();
  }

  /** Takes what device and rdma_cm have to say, until {@link #close}. */
  void take() {
    synchronized (lock) {
      if (closed) {
        return;
      }
      takeOfDevice();
      try {
        for (CmEvent event; (event = id.awaitEvent(0)) != null; ) {
          onConnectionEvent(event);
        }
      } catch (VerbsException e) {
        report(e);
      }
    }
  }

  /** Takes what the device has to say. */
  void takeOfDevice() {
    try {
      context.drainEvents();
    } catch (VerbsException e) {
      report(e);
    }
  }

  private void onConnectionEvent(CmEvent event) {
    context.events().tell(event, subject);
    switch (event.type()) {
      case DISCONNECTED ->
          report(new EndpointFailure(Kind.PEER_LOST, "the peer's end was disconnected"));
      case DEVICE_REMOVAL ->
          report(new EndpointFailure(Kind.DEVICE, "the device is being removed"));
      case ADDR_CHANGE ->
          report(new EndpointFailure(Kind.DEVICE, "the address moved to another device"));
      default -> {
        // Time-wait and the like do not concern an established connection.
      }
    }
  }

  /** Takes nothing any more, disconnects, and gives back what the connection was made of. */
  void close(ResourceStack resources) {
    synchronized (lock) {
      closed = true;
      try (resources) {
        id.disconnect();
      }
    }
  }
}
