package io.rdma4j.testkit.verbs;

import io.rdma4j.Availability;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.DeviceAttributes;
import io.rdma4j.verbs.DeviceInfo;
import io.rdma4j.verbs.PortAttributes;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePairConfig;
import java.net.InetAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A device without hardware. Opening it several times gives the same object, which is closed when
 * each opener has closed it.
 */
public final class ScriptedDevice implements Device {
  /** Event types in the order of their C numbers. */
  private static final List<AsyncEvent.Type> EVENT_TYPES = List.of(AsyncEvent.Type.values());

  final Wire wire;
  final RegionTable regions;
  private final String name;
  private final Limits limits = new Limits();
  private final List<ScriptedPort> ports = new ArrayList<>();
  private final Queue<AsyncEvent> events = new ArrayDeque<>();
  private final Set<ScriptedProtectionDomain> domains = new LinkedHashSet<>();
  private final Set<ScriptedCompletionQueue> completionQueues = new LinkedHashSet<>();
  private final Set<ScriptedCompletionChannel> channels = new LinkedHashSet<>();
  private DeviceInfo.Transport transport = DeviceInfo.Transport.INFINIBAND;
  private Availability availability;
  private boolean keepsLastReceive;
  private int openers;

  ScriptedDevice(Wire wire, String name) {
    this.wire = wire;
    this.name = name;
    availability = Availability.usable("scripted device " + name);
    regions = new RegionTable(wire, limits);
    ports.add(new ScriptedPort(this, 1));
  }

  /** Gives the first port an IP address in a network of 24 bits, by which rdma_cm finds it. */
  public ScriptedDevice address(InetAddress address) {
    scriptedPort(1).address(address, 24);
    return this;
  }

  /** Returns a port, and adds it and those before it when there is none yet. */
  public ScriptedPort scriptedPort(int number) {
    synchronized (wire) {
      while (ports.size() < number) {
        ports.add(new ScriptedPort(this, ports.size() + 1));
      }
      return ports.get(number - 1);
    }
  }

  /** Sets the transport it reports. */
  public ScriptedDevice transport(DeviceInfo.Transport reported) {
    synchronized (wire) {
      transport = reported;
      return this;
    }
  }

  /** Lists the device as one that can not be opened. */
  public ScriptedDevice unusable(String reason) {
    synchronized (wire) {
      availability = Availability.unusable(reason);
      return this;
    }
  }

  /** Returns the limits, to be changed. */
  public Limits limits() {
    return limits;
  }

  /** Returns the bytes pinned by live regions, in whole pages. */
  public long pinnedBytes() {
    synchronized (wire) {
      return regions.pinned().pinnedBytes();
    }
  }

  /**
   * Declares that memory was mapped at an address: regions registered there before are stale from
   * now on, and posts that use their keys are counted by the ledger.
   */
  public void declareMapping(long address, long lengthBytes) {
    synchronized (wire) {
      regions.declareMapping(address, lengthBytes);
    }
  }

  /** Returns the live queue pairs, oldest first. */
  public List<ScriptedQueuePair> queuePairs() {
    synchronized (wire) {
      List<ScriptedQueuePair> all = new ArrayList<>();
      domains.forEach(domain -> all.addAll(domain.queuePairs()));
      return all;
    }
  }

  /** Makes queue pairs in error forget to say that they take no more shared receives. */
  public void keepsLastReceive(boolean keeps) {
    synchronized (wire) {
      keepsLastReceive = keeps;
    }
  }

  boolean keepsLastReceive() {
    return keepsLastReceive;
  }

  /** Returns the live shared receive queues, oldest first. */
  public List<ScriptedSharedReceiveQueue> sharedReceiveQueues() {
    synchronized (wire) {
      List<ScriptedSharedReceiveQueue> all = new ArrayList<>();
      domains.forEach(domain -> all.addAll(domain.sharedReceiveQueues()));
      return all;
    }
  }

  /** Returns the live completion queues, oldest first. */
  public List<ScriptedCompletionQueue> completionQueues() {
    synchronized (wire) {
      return List.copyOf(completionQueues);
    }
  }

  /** Raises an asynchronous event. */
  public void raise(AsyncEvent.Type type, @Nullable AutoCloseable source, int port) {
    synchronized (wire) {
      events.add(new AsyncEvent(type, EVENT_TYPES.indexOf(type), source, port));
    }
  }

  /** Raises an asynchronous event by its C number, one that this version may not know. */
  public void raise(int rawType, @Nullable AutoCloseable source, int port) {
    synchronized (wire) {
      events.add(new AsyncEvent(AsyncEvent.Type.of(rawType), rawType, source, port));
    }
  }

  /** Returns how many events were raised and not yet read, and so not acknowledged. */
  public int unacknowledgedEvents() {
    synchronized (wire) {
      return events.size();
    }
  }

  DeviceInfo info() {
    return new DeviceInfo(name, name.hashCode(), transport, availability);
  }

  List<ScriptedPort> ports() {
    return ports;
  }

  ScriptedDevice open() {
    synchronized (wire) {
      wire.faults.enter("ibv_open_device", this);
      if (!availability.usable()) {
        throw Faults.failure("ibv_open_device", Errno.ENODEV, availability.reason());
      }
      openers++;
      wire.ledger.created(Ledger.Kind.DEVICE);
      return this;
    }
  }

  void checkQueuePair(String call, QueuePairConfig config) {
    if (config.maxSendWorkRequests() > limits.maxQueuePairWorkRequests
        || config.maxReceiveWorkRequests() > limits.maxQueuePairWorkRequests
        || config.maxSendSge() > limits.maxSge
        || config.maxReceiveSge() > limits.maxSge
        || (limits.refuseInlineWish && config.maxInlineBytes() > limits.maxInlineBytes)) {
      throw Faults.failure(call, Errno.EINVAL, "beyond the limits of " + this + ": " + config);
    }
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public DeviceAttributes attributes() {
    synchronized (wire) {
      return limits.attributes(ports.size());
    }
  }

  @Override
  public PortAttributes port(int port) {
    synchronized (wire) {
      wire.faults.enter("ibv_query_port", this);
      return existing(port).attributes(limits.maxMessageBytes);
    }
  }

  @Override
  public byte[] gid(int port, int index) {
    synchronized (wire) {
      return existing(port).gid(index);
    }
  }

  private ScriptedPort existing(int port) {
    if (port < 1 || port > ports.size()) {
      throw Faults.failure("ibv_query_port", Errno.EINVAL, this + " has no port " + port);
    }
    return ports.get(port - 1);
  }

  @Override
  public ProtectionDomain allocateProtectionDomain() {
    synchronized (wire) {
      wire.faults.enter("ibv_alloc_pd", this);
      var domain = new ScriptedProtectionDomain(this);
      domains.add(domain);
      return domain;
    }
  }

  @Override
  public CompletionChannel createCompletionChannel() {
    synchronized (wire) {
      wire.faults.enter("ibv_create_comp_channel", this);
      var channel = new ScriptedCompletionChannel(this);
      channels.add(channel);
      return channel;
    }
  }

  @Override
  public CompletionQueue createCompletionQueue(
      int entries, @Nullable CompletionChannel channel, int completionVector) {
    synchronized (wire) {
      int errno = wire.faults.errnoOf("ibv_create_cq");
      if (errno != 0) {
        String hint = errno == Errno.ENOMEM ? ": " + regions.pinned().explain(0) : "";
        throw Faults.failure("ibv_create_cq", errno, this + ", " + entries + " entries" + hint);
      }
      if (entries < 1 || entries > limits.maxCompletionQueueEntries) {
        throw Faults.failure(
            "ibv_create_cq",
            Errno.EINVAL,
            entries + " entries, " + this + " has at most " + limits.maxCompletionQueueEntries);
      }
      var queue = new ScriptedCompletionQueue(this, entries, (ScriptedCompletionChannel) channel);
      completionQueues.add(queue);
      return queue;
    }
  }

  @Override
  public @Nullable AsyncEvent pollAsyncEvent() {
    synchronized (wire) {
      return events.poll();
    }
  }

  void forget(ScriptedProtectionDomain domain) {
    domains.remove(domain);
  }

  void forget(ScriptedCompletionQueue queue) {
    completionQueues.remove(queue);
  }

  void forget(ScriptedCompletionChannel channel) {
    channels.remove(channel);
  }

  @Override
  public void close() {
    synchronized (wire) {
      if (openers == 0) {
        return;
      }
      openers--;
      wire.ledger.destroyed(Ledger.Kind.DEVICE);
      if (openers == 0) {
        List.copyOf(domains).forEach(ScriptedProtectionDomain::close);
        List.copyOf(completionQueues).forEach(ScriptedCompletionQueue::close);
        List.copyOf(channels).forEach(ScriptedCompletionChannel::close);
      }
    }
  }

  @Override
  public String toString() {
    return "device " + name;
  }
}
