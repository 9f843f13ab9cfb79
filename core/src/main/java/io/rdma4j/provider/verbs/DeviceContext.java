package io.rdma4j.provider.verbs;

import io.rdma4j.VerbsException;
import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.jfr.RegistrationEvent;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointFailure.Kind;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.ReceiveMemory;
import io.rdma4j.status.EventSink;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One opened device with its protection domain, its registrar, and the endpoints that run on it.
 *
 * <p>Safe for use by several threads.
 */
final class DeviceContext implements MemoryRegistrar, AutoCloseable {
  private static final Set<DeviceContext> OPEN = ConcurrentHashMap.newKeySet();

  private final Device device;
  private final VerbsSettings settings;
  private final NanoClock clock;
  private final boolean iwarp;
  private final int distance;
  private final DeviceEvents events;
  private final ProtectionDomain domain;
  private final Set<VerbsEndpoint> endpoints = ConcurrentHashMap.newKeySet();
  private final LinkChanges links;
  private final ReentrantLock eventLock = new ReentrantLock();
  private volatile @Nullable ReceiveMemory receiveMemory;

  /** Guards the two below. */
  private final Object shareLock = new Object();

  private volatile @Nullable SharedReceives shared;
  private int sharers;

  /** Conductor only. */
  private boolean eventsUnreadable;

  /**
   * Takes ownership of the device, also when this fails.
   *
   * @param iwarp whether it is of the kind that {@link VerbsOneSided} does not work with
   * @param distance as in {@link PortFacts}
   */
  DeviceContext(
      Device device,
      VerbsSettings settings,
      NanoClock clock,
      boolean iwarp,
      int distance,
      EventSink sink) {
    this.device = device;
    this.events = new DeviceEvents(device.name(), sink);
    this.settings = settings;
    this.clock = clock;
    this.iwarp = iwarp;
    this.distance = distance;
    links = new LinkChanges(clock);
    try {
      domain = device.allocateProtectionDomain();
    } catch (RuntimeException e) {
      device.close();
      throw e;
    }
    OPEN.add(this);
  }

  Device device() {
    return device;
  }

  VerbsSettings settings() {
    return settings;
  }

  NanoClock clock() {
    return clock;
  }

  DeviceEvents events() {
    return events;
  }

  ProtectionDomain domain() {
    return domain;
  }

  /** Has endpoints receive into this memory. */
  void receiveInto(ReceiveMemory memory) {
    receiveMemory = memory;
  }

  /** Returns the memory for receives, null when this provider was given none. */
  @Nullable ReceiveMemory receiveMemory() {
    return receiveMemory;
  }

  /**
   * Returns the receives that endpoints share, made for the first of them; to be given back by
   * {@link #unshareReceives}.
   *
   * @throws IOException when there can be none
   */
  SharedReceives shareReceives() throws IOException {
    ReceiveMemory memory = receiveMemory;
    if (memory == null || device.attributes().maxSharedReceiveQueues() < 1) {
      throw new IOException(
          "peers can not share receives: "
              + (memory == null
                  ? "the provider has no receive memory of the node"
                  : "device " + name() + " has no shared receive queues")
              + "; set rdma4j.verbs.sharedReceives to 0");
    }
    synchronized (shareLock) {
      SharedReceives present = shared;
      if (present == null) {
        present = new SharedReceives(this, memory, settings.sharedReceives());
        shared = present;
      }
      sharers++;
      return present;
    }
  }

  /** Gives them back; they end with the last endpoint. */
  void unshareReceives() {
    synchronized (shareLock) {
      SharedReceives present = shared;
      if (--sharers == 0 && present != null) {
        shared = null;
        present.close();
      }
    }
  }

  @Override
  public String name() {
    return device.name();
  }

  @Override
  public boolean servesPeers() {
    return !iwarp;
  }

  boolean isIwarp() {
    return iwarp;
  }

  /** Returns the distance of {@link PortFacts}. */
  int distance() {
    return distance;
  }

  /** Returns how many connections a port has now. */
  int connections(int port) {
    return (int) endpoints.stream().filter(endpoint -> endpoint.port() == port).count();
  }

  /** Returns whether a port's link went or came a moment ago. */
  boolean isSettling(int port) {
    return links.isSettling(port);
  }

  /** Returns how many reads and atomics a queue pair may have under way. */
  int mostReadsStarted() {
    return mostReads(device.attributes().maxReadAtomicAsInitiator());
  }

  /** Returns how many reads and atomics of a peer a queue pair serves at once. */
  int mostReadsServed() {
    return mostReads(device.attributes().maxReadAtomicAsTarget());
  }

  private int mostReads(int limit) {
    return !iwarp ? Math.min(VerbsOneSided.MAX_READS, limit) : 1;
  }

  /** Returns the largest message of a port, which is the most that one operation moves. */
  int maxTransferBytes(int port) {
    return (int) Math.min(Integer.MAX_VALUE, device.port(port).maxMessageBytes());
  }

  @Override
  public Registration register(long address, long lengthBytes) {
    return registration(address, lengthBytes, Access.LOCAL_WRITE);
  }

  @Override
  public Registration register(long address, long lengthBytes, int access) {
    MemoryAccess.check(access);
    return registration(address, lengthBytes, verbsAccess(access));
  }

  private Registration registration(long address, long lengthBytes, int access) {
    RegistrationEvent recorded = RegistrationEvent.start();
    try {
      MemoryRegion region = domain.registerMemory(address, lengthBytes, access);
      RegistrationEvent.end(recorded, name(), lengthBytes, true);
      return new RegionRegistration(region);
    } catch (VerbsException e) {
      RegistrationEvent.end(recorded, name(), lengthBytes, false);
      events.registrationFailed(e, lengthBytes);
      throw e;
    }
  }

  private static int verbsAccess(int access) {
    return translated(access, MemoryAccess.LOCAL_WRITE, Access.LOCAL_WRITE)
        | translated(access, MemoryAccess.REMOTE_WRITE, Access.REMOTE_WRITE)
        | translated(access, MemoryAccess.REMOTE_READ, Access.REMOTE_READ)
        | translated(access, MemoryAccess.REMOTE_ATOMIC, Access.REMOTE_ATOMIC);
  }

  private static int translated(int access, int right, int verbsRight) {
    return (access & right) == 0 ? 0 : verbsRight;
  }

  private record RegionRegistration(MemoryRegion region) implements Registration {
    @Override
    public int lkey() {
      return region.lkey();
    }

    @Override
    public int rkey() {
      return region.rkey();
    }

    @Override
    public void close() {
      region.close();
    }

    @Override
    public boolean isDeregistered() {
      return region.isDeregistered();
    }

    @Override
    public void revoke() {
      region.revoke();
    }
  }

  void add(VerbsEndpoint endpoint) {
    endpoints.add(endpoint);
  }

  void remove(VerbsEndpoint endpoint) {
    endpoints.remove(endpoint);
  }

  /** Takes the device's events; when that fails it is told once, until it works again. */
  void housekeep() {
    try {
      drainEvents();
      eventsUnreadable = false;
    } catch (VerbsException e) {
      if (!eventsUnreadable) {
        eventsUnreadable = true;
        events.callFailed(e);
      }
    }
  }

  /** Takes the device's events and hands each to the endpoints it concerns. */
  void drainEvents() {
    if (!eventLock.tryLock()) {
      return;
    }
    try {
      for (AsyncEvent event; (event = device.pollAsyncEvent()) != null; ) {
        dispatch(event);
      }
      SharedReceives present = shared;
      if (present != null) {
        present.refill();
      }
    } finally {
      eventLock.unlock();
    }
  }

  /**
   * Nodes of one process share the context of a device, and who comes first reads an event: that of
   * an object goes to the node that uses it, that of a port or the device to all.
   */
  private void dispatch(AsyncEvent event) {
    boolean ofAll = event.port() != 0 || event.type() == AsyncEvent.Type.DEVICE_FATAL;
    boolean taken = false;
    for (DeviceContext context : OPEN) {
      if (isSameDevice(context) && (ofAll || context.user(event) != null)) {
        context.take(event);
        taken = true;
      }
    }
    if (!taken) {
      take(event);
    }
  }

  @SuppressWarnings("ReferenceEquality") // one object for all who have opened it
  private boolean isSameDevice(DeviceContext other) {
    return other.device == device;
  }

  private void take(AsyncEvent event) {
    events.tell(event, user(event));
    links.note(event);
    switch (event.type()) {
      case CQ_ERR -> failSource(event, Kind.DEVICE, "completion queue overrun");
      case QP_FATAL -> failSource(event, Kind.DEVICE, "queue pair in fatal error");
      case QP_REQ_ERR -> failSource(event, Kind.PROTOCOL, "the peer sent an invalid request");
      case QP_ACCESS_ERR ->
          failSource(event, Kind.PROTOCOL, "the peer asked for memory it has no right to");
      case SRQ_ERR -> failSource(event, Kind.DEVICE, "shared receive queue in error");
      case SRQ_LIMIT_REACHED -> sharedReceivesLow(event);
      case QP_LAST_WQE_REACHED -> lastReceiveReached(event);
      case PORT_ERR ->
          endpoints.stream()
              .filter(endpoint -> endpoint.port() == event.port())
              .forEach(endpoint -> fail(endpoint, Kind.DEVICE, "port down"));
      case DEVICE_FATAL ->
          endpoints.forEach(endpoint -> fail(endpoint, Kind.DEVICE, "device in fatal error"));
      default -> {
        // Path migration, address and subnet changes do not end an established connection.
      }
    }
  }

  @SuppressWarnings("ReferenceEquality") // an event names the very object
  private void sharedReceivesLow(AsyncEvent event) {
    SharedReceives present = shared;
    if (present != null && event.source() == present.queue()) {
      present.limitReached();
    }
  }

  private void lastReceiveReached(AsyncEvent event) {
    for (VerbsEndpoint endpoint : endpoints) {
      if (endpoint.uses(event.source())) {
        endpoint.lastReceiveReached();
      }
    }
  }

  /** The endpoint that uses the object of an event. */
  private @Nullable VerbsEndpoint user(AsyncEvent event) {
    return event.source() == null
        ? null
        : endpoints.stream().filter(e -> e.uses(event.source())).findFirst().orElse(null);
  }

  private void failSource(AsyncEvent event, Kind kind, String what) {
    for (VerbsEndpoint endpoint : endpoints) {
      if (endpoint.uses(event.source())) {
        fail(endpoint, kind, what);
      }
    }
  }

  private static void fail(VerbsEndpoint endpoint, Kind kind, String what) {
    endpoint.report(new EndpointFailure(kind, what));
  }

  @Override
  public void close() {
    OPEN.remove(this);
    try (device) {
      domain.close();
    }
  }

  @Override
  public String toString() {
    return name();
  }
}
