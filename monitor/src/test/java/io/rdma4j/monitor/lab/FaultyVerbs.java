package io.rdma4j.monitor.lab;

import static java.util.Objects.requireNonNull;

import io.rdma4j.Availability;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CmParameters;
import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.ConnectedPath;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.DeviceAttributes;
import io.rdma4j.verbs.DeviceInfo;
import io.rdma4j.verbs.PortAddress;
import io.rdma4j.verbs.PortAttributes;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.QueuePairState;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.RemotePath;
import io.rdma4j.verbs.SendList;
import io.rdma4j.verbs.Verbs;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The verbs of this machine, used wrongly on demand: what fails then, fails in the real device.
 *
 * <p>Everything is passed on but what one of the faults changes. Any thread sets them.
 */
final class FaultyVerbs implements Verbs {
  private static final int ALMOST_ALL_BITS = 0x7fff_ff00;

  /** Farther than any memory region reaches. */
  private static final long FAR_BYTES = 1L << 40;

  private static final long FLOOD_LIMIT_NS = 20_000_000_000L;

  private final Verbs real = Verbs.system();
  private final Map<String, FaultyDevice> devices = new ConcurrentHashMap<>();

  /** What the node has made, by the object of the device that an event names. */
  private final Map<AutoCloseable, AutoCloseable> shown = new ConcurrentHashMap<>();

  private volatile boolean hidesCompletions;
  private volatile boolean withholdsReceives;
  private volatile boolean straysFromMemory;
  private volatile boolean spoilsKeys;
  private volatile long spoiledNs;

  /** Polling shows nothing, as if nobody polled. */
  void hideCompletions(boolean hide) {
    hidesCompletions = hide;
  }

  /** Whether receives posted from now on do not reach the device. */
  void withholdReceives(boolean withhold) {
    withholdsReceives = withhold;
  }

  /** Whether messages posted from now on, one by one, lie outside of the memory of their key. */
  void strayFromMemory(boolean stray) {
    straysFromMemory = stray;
  }

  /** Whether reads posted from now on name a key that the peer has not given. */
  void spoilKeys(boolean spoil) {
    spoilsKeys = spoil;
  }

  /** When the first key was spoiled, by {@link System#nanoTime}; 0 when none was. */
  long spoiledNs() {
    return spoiledNs;
  }

  /** Destroys every queue pair under the feet of the node, which is not told. */
  void loseQueuePairs() {
    for (AutoCloseable object : shown.values()) {
      if (object instanceof FaultyQueuePair queuePair) {
        queuePair.lose();
      }
    }
  }

  /** Has every queue pair complete more requests than its queue has entries, none of the node's. */
  void floodCompletions() {
    for (AutoCloseable object : shown.values()) {
      if (object instanceof FaultyQueuePair queuePair) {
        queuePair.flood();
      }
    }
  }

  @Override
  public Availability availability() {
    return real.availability();
  }

  @Override
  public List<DeviceInfo> devices() {
    return real.devices();
  }

  @Override
  public List<PortAddress> portAddresses() {
    return real.portAddresses();
  }

  @Override
  public Device open(String deviceName) {
    return devices.computeIfAbsent(deviceName, name -> new FaultyDevice(real.open(name)));
  }

  @Override
  public CmId createCmId() {
    return new FaultyCmId(real.createCmId());
  }

  private CompletionQueue realOf(CompletionQueue queue) {
    return queue instanceof FaultyQueue faulty ? faulty.real : queue;
  }

  private final class FaultyDevice implements Device {
    private final Device real;

    FaultyDevice(Device real) {
      this.real = real;
    }

    @Override
    public String name() {
      return real.name();
    }

    @Override
    public DeviceAttributes attributes() {
      return real.attributes();
    }

    @Override
    public PortAttributes port(int port) {
      return real.port(port);
    }

    @Override
    public byte[] gid(int port, int index) {
      return real.gid(port, index);
    }

    @Override
    public ProtectionDomain allocateProtectionDomain() {
      return real.allocateProtectionDomain();
    }

    @Override
    public CompletionChannel createCompletionChannel() {
      return real.createCompletionChannel();
    }

    @Override
    public CompletionQueue createCompletionQueue(
        int entries, @Nullable CompletionChannel channel, int completionVector) {
      CompletionQueue made = real.createCompletionQueue(entries, channel, completionVector);
      FaultyQueue faulty = new FaultyQueue(made);
      shown.put(made, faulty);
      return faulty;
    }

    @Override
    public @Nullable AsyncEvent pollAsyncEvent() {
      AsyncEvent event = real.pollAsyncEvent();
      if (event == null || event.source() == null) {
        return event;
      }
      AutoCloseable source = shown.getOrDefault(event.source(), event.source());
      return new AsyncEvent(event.type(), event.rawType(), source, event.port());
    }

    @Override
    public void close() {
      real.close();
    }
  }

  private final class FaultyQueue implements CompletionQueue {
    private final CompletionQueue real;

    FaultyQueue(CompletionQueue real) {
      this.real = real;
    }

    @Override
    public int capacity() {
      return real.capacity();
    }

    @Override
    public int poll(Completions batch) {
      return hidesCompletions ? 0 : real.poll(batch);
    }

    @Override
    public void requestNotification(boolean solicitedOnly) {
      real.requestNotification(solicitedOnly);
    }

    @Override
    public boolean moderate(int completions, int periodUs) {
      return real.moderate(completions, periodUs);
    }

    @Override
    public void close() {
      shown.remove(real);
      real.close();
    }
  }

  private final class FaultyQueuePair implements QueuePair {
    private final QueuePair real;

    private volatile boolean lost;

    /** Of the completion queue for sends. */
    private final int queueEntries;

    FaultyQueuePair(QueuePair real, int queueEntries) {
      this.real = real;
      this.queueEntries = queueEntries;
    }

    void lose() {
      lost = true;
      real.close();
    }

    /**
     * Writes of no bytes, which need no key; the send queue takes as many as have not completed.
     */
    void flood() {
      try (SendList one = new SendList(1, 1)) {
        one.add(0, SendList.OP_RDMA_WRITE, SendList.SIGNALED);
        long endNs = System.nanoTime() + FLOOD_LIMIT_NS;
        for (int posted = 0; posted <= queueEntries && System.nanoTime() - endNs < 0; ) {
          posted += real.postSend(one);
        }
      }
    }

    @Override
    public int number() {
      return real.number();
    }

    @Override
    public int maxInlineBytes() {
      return real.maxInlineBytes();
    }

    @Override
    public ConnectedPath path() {
      return real.path();
    }

    @Override
    public QueuePairState state() {
      return real.state();
    }

    @Override
    public void toInit(int port, int access) {
      real.toInit(port, access);
    }

    @Override
    public void toReadyToReceive(RemotePath path) {
      real.toReadyToReceive(path);
    }

    @Override
    public void toReadyToSend(RemotePath path) {
      real.toReadyToSend(path);
    }

    @Override
    public void toError() {
      if (!lost) {
        real.toError();
      }
    }

    @Override
    public int postSend(SendList list) {
      int last = list.size() - 1;
      if (spoilsKeys && last >= 0 && list.opcode(last) == SendList.OP_RDMA_READ) {
        list.remote(list.remoteAddress(last), list.rkey(last) ^ ALMOST_ALL_BITS);
        spoiledNs = spoiledNs == 0 ? System.nanoTime() : spoiledNs;
      }
      return straysFromMemory && last == 0 ? postStray(list) : real.postSend(list);
    }

    private int postStray(SendList list) {
      try (SendList one = new SendList(1, 1)) {
        // Inline data would be read from there by this process.
        int flags = (list.flags(0) & ~SendList.INLINE) | SendList.SIGNALED;
        one.add(list.wrId(0), list.opcode(0), flags)
            .gather(
                list.sgeAddress(0, 0) + FAR_BYTES, list.sgeLengthBytes(0, 0), list.sgeLkey(0, 0));
        return real.postSend(one);
      }
    }

    @Override
    public int postReceive(ReceiveList list) {
      return withholdsReceives ? list.size() : real.postReceive(list);
    }

    @Override
    public void close() {
      shown.remove(real);
      real.close();
    }
  }

  private final class FaultyCmId implements CmId {
    private final CmId real;

    FaultyCmId(CmId real) {
      this.real = real;
    }

    @Override
    public void bind(InetSocketAddress local) {
      real.bind(local);
    }

    @Override
    public void listen(int backlog) {
      real.listen(backlog);
    }

    @Override
    public void resolveAddress(
        @Nullable InetSocketAddress local, InetSocketAddress peer, int timeoutMs) {
      real.resolveAddress(local, peer, timeoutMs);
    }

    @Override
    public void resolveRoute(int timeoutMs) {
      real.resolveRoute(timeoutMs);
    }

    @Override
    public @Nullable CmEvent awaitEvent(long timeoutNs) {
      CmEvent event = real.awaitEvent(timeoutNs);
      if (event == null || event.newId() == null) {
        return event;
      }
      return new CmEvent(
          event.type(),
          event.status(),
          event.privateData(),
          event.responderResources(),
          event.initiatorDepth(),
          new FaultyCmId(requireNonNull(event.newId())));
    }

    @Override
    public Device device() {
      return requireNonNull(devices.get(real.device().name()), "a device that the node has opened");
    }

    @Override
    public int devicePort() {
      return real.devicePort();
    }

    @Override
    public InetSocketAddress localAddress() {
      return real.localAddress();
    }

    @Override
    public QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config) {
      QueuePairConfig passedOn =
          new QueuePairConfig(
              realOf(config.sendQueue()),
              realOf(config.receiveQueue()),
              config.maxSendWorkRequests(),
              config.maxReceiveWorkRequests(),
              config.maxSendSge(),
              config.maxReceiveSge(),
              config.maxInlineBytes(),
              config.sharedReceiveQueue());
      QueuePair made = real.createQueuePair(domain, passedOn);
      FaultyQueuePair faulty = new FaultyQueuePair(made, passedOn.sendQueue().capacity());
      shown.put(made, faulty);
      return faulty;
    }

    @Override
    public void connect(CmParameters parameters) {
      real.connect(parameters);
    }

    @Override
    public void accept(CmParameters parameters) {
      real.accept(parameters);
    }

    @Override
    public void reject(byte[] privateData) {
      real.reject(privateData);
    }

    @Override
    public void disconnect() {
      real.disconnect();
    }

    @Override
    public void close() {
      real.close();
    }
  }
}
