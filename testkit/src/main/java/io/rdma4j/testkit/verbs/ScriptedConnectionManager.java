package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.CmEvent;
import java.net.InetAddress;
import java.util.Collection;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The rdma_cm of a scripted stack: who listens on which port, and which events come otherwise than
 * they should.
 */
public final class ScriptedConnectionManager {
  private static final int FIRST_FREE_PORT = 40_000;

  private final Wire wire;
  private final Collection<ScriptedDevice> devices;
  private final Map<Integer, ScriptedCmId> ports = new HashMap<>();
  private final Map<CmEvent.Type, Substitute> substitutes = new EnumMap<>(CmEvent.Type.class);
  private final Set<CmEvent.Type> lost = EnumSet.noneOf(CmEvent.Type.class);
  private final Set<CmEvent.Type> allLost = EnumSet.noneOf(CmEvent.Type.class);
  private int lastPort = FIRST_FREE_PORT;

  private record Substitute(CmEvent.Type type, int status) {}

  ScriptedConnectionManager(Wire wire, Collection<ScriptedDevice> devices) {
    this.wire = wire;
    this.devices = devices;
  }

  /** Delivers another event instead of the next one of a type. */
  public void replaceNext(CmEvent.Type expected, CmEvent.Type instead, int status) {
    synchronized (wire) {
      substitutes.put(expected, new Substitute(instead, status));
    }
  }

  /** Never delivers the next event of a type. */
  public void loseNext(CmEvent.Type expected) {
    synchronized (wire) {
      lost.add(expected);
    }
  }

  /** Never delivers an event of a type until {@link #forgetScript}. */
  public void loseAll(CmEvent.Type expected) {
    synchronized (wire) {
      allLost.add(expected);
    }
  }

  /** Delivers everything as it should be from now on. */
  public void forgetScript() {
    synchronized (wire) {
      substitutes.clear();
      lost.clear();
      allLost.clear();
    }
  }

  /** Returns the event to deliver, null when it is lost. */
  @Nullable CmEvent filter(CmEvent event) {
    if (lost.remove(event.type()) || allLost.contains(event.type())) {
      return null;
    }
    Substitute substitute = substitutes.remove(event.type());
    return substitute == null
        ? event
        : new CmEvent(substitute.type, substitute.status, new byte[0], 0, 0, null);
  }

  @Nullable ScriptedPort portAt(InetAddress address) {
    for (ScriptedDevice device : devices) {
      for (ScriptedPort port : device.ports()) {
        if (port.hasAddress(address)) {
          return port;
        }
      }
    }
    return null;
  }

  int takePort(int wished, ScriptedCmId owner) {
    int port = wished == 0 ? ++lastPort : wished;
    if (ports.putIfAbsent(port, owner) != null) {
      throw Faults.failure("rdma_bind_addr", Errno.EADDRINUSE, "port " + port);
    }
    return port;
  }

  void freePort(int port, ScriptedCmId owner) {
    ports.remove(port, owner);
  }

  @Nullable ScriptedCmId at(int port) {
    return ports.get(port);
  }
}
