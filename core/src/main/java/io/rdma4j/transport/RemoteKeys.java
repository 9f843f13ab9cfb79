package io.rdma4j.transport;

import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import io.rdma4j.provider.OneSided;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/**
 * The keys that the two ends of a connection have given each other, for devices to reach exported
 * memory by themselves.
 *
 * <pre>
 *  requester                                         exporter
 *  REMOTE, wants a key         ─────────────▶        carries it out, knows the region: lends it
 *                              ◀── REGION_KEY ─
 *  operations of the device    ═════════════▶        its processors have no part in it
 *                              ◀── REGION_CLOSED ─   ExportedRegion.close
 *  none begins any more
 *  the last one has ended      ── REGION_LEFT ──▶    the device forgets the key; close returns
 * </pre>
 *
 * <p>A key is given only to a peer that has shown the region's id on this connection, and it holds
 * for the device of the path that brought it.
 *
 * <p>Polling thread, where nothing else is said.
 */
final class RemoteKeys {
  private static final int FIRST_CAPACITY = 16;

  private final Connection connection;
  private final Endpoint endpoint;
  private final Sender sender;
  private final MemorySegment scratch = MemorySegment.ofArray(new byte[RemoteKey.BYTES]);

  /** Keys of the peer, by the slot in the region's id; replaced by a copy with each change. */
  private volatile @Nullable RemoteKey[] bySlot = new RemoteKey[FIRST_CAPACITY];

  /** Keys the peer wants back whose last operation has ended. */
  private final Queue<RemoteKey> left = new ConcurrentLinkedQueue<>();

  /** Regions of this side whose key the peer has, by id. */
  private final Map<Long, ExportedRegion> lent = new ConcurrentHashMap<>();

  RemoteKeys(Connection connection, Endpoint endpoint, Sender sender) {
    this.connection = connection;
    this.endpoint = endpoint;
    this.sender = sender;
  }

  // ---- keys of the peer ------------------------------------------------------------------------

  /** Returns the key of a region, null when there is none. Any thread. */
  @Nullable RemoteKey find(long regionId) {
    @Nullable RemoteKey[] now = bySlot;
    int slot = ExportTable.slot(regionId);
    RemoteKey key = slot < now.length ? now[slot] : null;
    return key != null && key.regionId() == regionId ? key : null;
  }

  /** Takes up a key that the peer has sent; one for another path's device is of no use. */
  void received(long regionId, MemorySegment memory, long at) {
    RemoteKey key = RemoteKey.read(regionId, memory, at);
    OneSided device = endpoint.oneSided();
    if (device != null && device.pathId() == key.pathId()) {
      put(ExportTable.slot(regionId), key);
    }
  }

  private void put(int slot, @Nullable RemoteKey key) {
    @Nullable RemoteKey[] now = bySlot;
    @Nullable RemoteKey[] next =
        Arrays.copyOf(now, Math.max(now.length, Integer.highestOneBit(slot) << 1));
    next[slot] = key;
    bySlot = next;
  }

  /** The peer wants a region back. */
  void regionClosed(long regionId) {
    RemoteKey key = find(regionId);
    if (key != null) {
      put(ExportTable.slot(regionId), null);
    }
    if (key == null || key.revoke()) {
      sender.sendReliably(MessageType.REGION_LEFT, regionId, 0);
    }
  }

  /** Ends an operation that was begun with a key. Any thread, whatever lock it holds. */
  void leave(RemoteKey key) {
    if (key.leave()) {
      left.add(key);
    }
  }

  /** Tells the peer of regions that it wants back and that nothing reaches any more. */
  void tellLeft() {
    for (RemoteKey key; (key = left.poll()) != null; ) {
      sender.sendReliably(MessageType.REGION_LEFT, key.regionId(), 0);
    }
  }

  /** The path has ended, and with it what its device knew. */
  void pathEnded() {
    bySlot = new RemoteKey[FIRST_CAPACITY];
  }

  // ---- regions of this side --------------------------------------------------------------------

  /** Gives the peer the key of a region; without room it is asked again with the next operation. */
  void lend(ExportedRegion region) {
    OneSided device = endpoint.oneSided();
    if (device == null) {
      return;
    }
    Registration registration =
        region.registration(connection.node().registrarIndex(endpoint.registrar()));
    int access = region.descriptor().access();
    if (registration == null) {
      access = 0;
    } else if (!device.servesAtomics()) {
      access &= ~MemoryAccess.REMOTE_ATOMIC;
    }
    RemoteKey.write(
        scratch,
        device.pathId(),
        region.memory().address(),
        region.memory().byteSize(),
        registration == null ? 0 : registration.rkey(),
        access);
    if (access == 0) {
      boolean ignored = sendKey(region);
      return;
    }
    if (region.lendTo(connection, () -> sendKey(region))) {
      lent.put(region.descriptor().id(), region);
    }
  }

  private boolean sendKey(ExportedRegion region) {
    long id = region.descriptor().id();
    return sender.sendOwn(MessageType.REGION_KEY, id, scratch, 0, RemoteKey.BYTES) >= 0;
  }

  /** Says that a region is wanted back. Any thread. */
  void tellClosed(ExportedRegion region) {
    sender.sendReliably(MessageType.REGION_CLOSED, region.descriptor().id(), 0);
  }

  /** The peer has no operation under way on a region any more. */
  void regionLeft(long regionId) {
    ExportedRegion region = lent.remove(regionId);
    if (region != null) {
      region.left(connection);
    }
  }

  /** The connection has ended; nothing reaches this side's memory over it. */
  void end() {
    lent.values().forEach(region -> region.left(connection));
    lent.clear();
  }
}
