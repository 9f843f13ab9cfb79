package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CmParameters;
import io.rdma4j.verbs.ConnectedPath;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Objects;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** An rdma_cm identifier of a scripted stack. */
final class ScriptedCmId implements CmId {
  private static final int CONNECT_DATA_BYTES = 56;
  private static final int ACCEPT_DATA_BYTES = 196;
  private static final int REJECTED_NO_LISTENER = 8;
  private static final int REJECTED_BY_CONSUMER = 28;
  private static final byte[] NO_DATA = new byte[0];

  private final Wire wire;
  private final ScriptedConnectionManager manager;
  private final Queue<CmEvent> events = new ArrayDeque<>();
  private @Nullable ScriptedPort port;
  private @Nullable InetSocketAddress local;
  private @Nullable InetSocketAddress remote;
  private @Nullable ScriptedQueuePair queuePair;
  private @Nullable ScriptedCmId peer;
  private @Nullable CmParameters connectParameters;
  private boolean ownsPort;
  private boolean listening;
  private boolean connected;
  private boolean closed;

  /** True while this is a request that was neither accepted nor refused. */
  private boolean unanswered;

  ScriptedCmId(Wire wire, ScriptedConnectionManager manager) {
    this.wire = wire;
    this.manager = manager;
    wire.ledger.created(Ledger.Kind.CM_ID);
  }

  private void post(CmEvent.Type type, int status, byte[] data, @Nullable ScriptedCmId newId) {
    post(new CmEvent(type, status, data, 0, 0, newId));
  }

  /** Posts an event that tells what the peer has asked for, seen from this side. */
  private void post(
      CmEvent.Type type, byte[] data, CmParameters ofPeer, @Nullable ScriptedCmId newId) {
    int served = ofPeer.initiatorDepth();
    int wanted = ofPeer.responderResources();
    post(new CmEvent(type, 0, data, served, wanted, newId));
  }

  private void post(CmEvent raised) {
    ScriptedCmId newId = (ScriptedCmId) raised.newId();
    CmEvent event = manager.filter(raised);
    if (newId != null && (event == null || event.newId() == null)) {
      newId.unanswered = false;
      newId.close();
    }
    if (event != null) {
      events.add(event);
      wire.notifyAll();
    }
  }

  @Override
  public void bind(InetSocketAddress address) {
    synchronized (wire) {
      wire.faults.enter("rdma_bind_addr", address);
      ScriptedPort found = manager.portAt(address.getAddress());
      if (found == null) {
        throw Faults.failure(
            "rdma_bind_addr", Errno.ENODEV, address + " belongs to no RDMA device");
      }
      local =
          new InetSocketAddress(address.getAddress(), manager.takePort(address.getPort(), this));
      ownsPort = true;
      port = found;
    }
  }

  @Override
  public void listen(int backlog) {
    synchronized (wire) {
      wire.faults.enter("rdma_listen", localAddress());
      listening = true;
    }
  }

  @Override
  public void resolveAddress(
      @Nullable InetSocketAddress source, InetSocketAddress target, int timeoutMs) {
    synchronized (wire) {
      wire.faults.enter("rdma_resolve_addr", target);
      // One stack is one host: the peer's address is an address of this host.
      var near = source == null ? target : source;
      ScriptedPort found = manager.portAt(near.getAddress());
      if (found == null || manager.portAt(target.getAddress()) == null) {
        post(CmEvent.Type.ADDR_ERROR, -Errno.ENODEV, NO_DATA, null);
        return;
      }
      port = found;
      local = new InetSocketAddress(near.getAddress(), manager.takePort(0, this));
      ownsPort = true;
      remote = target;
      post(CmEvent.Type.ADDR_RESOLVED, 0, NO_DATA, null);
    }
  }

  @Override
  public void resolveRoute(int timeoutMs) {
    synchronized (wire) {
      wire.faults.enter("rdma_resolve_route", String.valueOf(remote));
      post(CmEvent.Type.ROUTE_RESOLVED, 0, NO_DATA, null);
    }
  }

  @Override
  public @Nullable CmEvent awaitEvent(long timeoutNs) {
    if (!wire.waiting.await(this::hasEvent, timeoutNs)) {
      return null;
    }
    synchronized (wire) {
      return events.poll();
    }
  }

  private boolean hasEvent() {
    synchronized (wire) {
      return !events.isEmpty();
    }
  }

  @Override
  public Device device() {
    return boundPort().device;
  }

  private ScriptedPort boundPort() {
    if (port == null) {
      throw new IllegalStateException("this identifier is not bound to a device yet");
    }
    return port;
  }

  @Override
  public int devicePort() {
    return boundPort().number();
  }

  @Override
  public InetSocketAddress localAddress() {
    if (local == null) {
      throw new IllegalStateException("this identifier is not bound to an address yet");
    }
    return local;
  }

  @Override
  public QueuePair createQueuePair(ProtectionDomain domain, QueuePairConfig config) {
    synchronized (wire) {
      if (domain.device() != boundPort().device || queuePair != null) {
        throw Faults.failure("rdma_create_qp", Errno.EINVAL, domain.device() + " is not " + port);
      }
      queuePair = ((ScriptedProtectionDomain) domain).createQueuePair("rdma_create_qp", config);
      queuePair.initialise();
      return queuePair;
    }
  }

  private ScriptedQueuePair requireQueuePair(String call) {
    if (queuePair == null) {
      throw Faults.failure(call, Errno.EINVAL, "no queue pair was created");
    }
    return queuePair;
  }

  @Override
  public void connect(CmParameters parameters) {
    synchronized (wire) {
      wire.faults.enter("rdma_connect", String.valueOf(remote));
      requireQueuePair("rdma_connect");
      byte[] data = padded("rdma_connect", parameters, CONNECT_DATA_BYTES);
      ScriptedCmId listener = remote == null ? null : manager.at(remote.getPort());
      if (listener == null || !listener.listening) {
        post(CmEvent.Type.REJECTED, REJECTED_NO_LISTENER, NO_DATA, null);
        return;
      }
      connectParameters = parameters;
      ScriptedCmId child = new ScriptedCmId(wire, manager);
      child.port = listener.port;
      child.local = listener.local;
      child.remote = local;
      child.peer = this;
      child.unanswered = true;
      peer = child;
      listener.post(CmEvent.Type.CONNECT_REQUEST, data, parameters, child);
    }
  }

  private static byte[] padded(String call, CmParameters parameters, int mostBytes) {
    if (parameters.privateData().length > mostBytes) {
      throw Faults.failure(
          call,
          Errno.EINVAL,
          parameters.privateData().length + " bytes of private data, most is " + mostBytes);
    }
    return Arrays.copyOf(parameters.privateData(), mostBytes);
  }

  @Override
  public void accept(CmParameters parameters) {
    synchronized (wire) {
      wire.faults.enter("rdma_accept", localAddress());
      ScriptedQueuePair mine = requireQueuePair("rdma_accept");
      byte[] data = padded("rdma_accept", parameters, ACCEPT_DATA_BYTES);
      unanswered = false;
      ScriptedCmId initiator = peer;
      if (initiator == null || initiator.closed) {
        post(CmEvent.Type.UNREACHABLE, -Errno.ETIMEDOUT, NO_DATA, null);
        return;
      }
      ScriptedQueuePair theirs = initiator.requireQueuePair("rdma_accept");
      CmParameters asked = Objects.requireNonNull(initiator.connectParameters);
      ScriptedPort near = boundPort();
      ScriptedPort far = initiator.boundPort();
      // As on RoCE: both send packets of the size that the connecting end can carry.
      int mtuBytes = far.mtuBytes();
      int carriedBytes = Math.min(near.mtuBytes(), far.mtuBytes());
      mine.connect(
          theirs, parameters.rnrRetryCount(), path(near, mtuBytes, parameters), carriedBytes);
      theirs.connect(
          mine, asked.rnrRetryCount(), initiator.path(far, mtuBytes, asked), carriedBytes);
      connected = true;
      initiator.connected = true;
      initiator.post(CmEvent.Type.ESTABLISHED, data, parameters, null);
      post(CmEvent.Type.ESTABLISHED, 0, NO_DATA, null);
    }
  }

  private ConnectedPath path(ScriptedPort at, int mtuBytes, CmParameters given) {
    return new ConnectedPath(
        mtuBytes,
        at.gidIndexOf(localAddress().getAddress()),
        given.initiatorDepth(),
        given.responderResources());
  }

  @Override
  public void reject(byte[] privateData) {
    synchronized (wire) {
      unanswered = false;
      if (peer != null) {
        peer.post(CmEvent.Type.REJECTED, REJECTED_BY_CONSUMER, privateData, null);
        peer.peer = null;
        peer = null;
      }
    }
  }

  @Override
  public void disconnect() {
    synchronized (wire) {
      if (queuePair != null && !queuePair.isClosed()) {
        queuePair.toError();
      }
      if (connected) {
        connected = false;
        post(CmEvent.Type.DISCONNECTED, 0, NO_DATA, null);
        if (peer != null && peer.connected && !wire.losesDisconnects) {
          peer.connected = false;
          peer.post(CmEvent.Type.DISCONNECTED, 0, NO_DATA, null);
        }
      }
    }
  }

  @Override
  public void close() {
    synchronized (wire) {
      if (closed) {
        return;
      }
      closed = true;
      disconnect();
      if (queuePair != null) {
        queuePair.close();
      }
      for (CmEvent event : events) {
        if (event.newId() != null) {
          event.newId().close();
        }
      }
      events.clear();
      if (ownsPort && local != null) {
        manager.freePort(local.getPort(), this);
      }
      if (peer != null) {
        if (unanswered) {
          peer.post(CmEvent.Type.REJECTED, REJECTED_BY_CONSUMER, NO_DATA, null);
        }
        peer.peer = null;
      }
      wire.ledger.destroyed(Ledger.Kind.CM_ID);
    }
  }
}
