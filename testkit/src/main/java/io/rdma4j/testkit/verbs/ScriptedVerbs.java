package io.rdma4j.testkit.verbs;

import io.rdma4j.Availability;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.DeviceInfo;
import io.rdma4j.verbs.PortAddress;
import io.rdma4j.verbs.Verbs;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A verbs stack of scripted devices; the start of every script. */
public final class ScriptedVerbs implements Verbs {
  private final Wire wire = new Wire();
  private final Map<String, ScriptedDevice> devices = new TreeMap<>();
  private final ScriptedConnectionManager connectionManager =
      new ScriptedConnectionManager(wire, devices.values());

  /** Returns a stack of one device, {@code scripted0}, which has the loopback address. */
  public static ScriptedVerbs onLoopback() {
    ScriptedVerbs verbs = new ScriptedVerbs();
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
    return verbs;
  }

  /** Adds a device that can be opened, with one active port and no address. */
  public ScriptedDevice addDevice(String name) {
    synchronized (wire) {
      var device = new ScriptedDevice(wire, name);
      devices.put(name, device);
      return device;
    }
  }

  /**
   * Makes the stack do nothing by itself from now on: queue pairs begin stalled, and completion
   * queues hold their completions back. The test takes each step: {@link
   * ScriptedQueuePair#executeNext()} and {@link ScriptedCompletionQueue#releaseNext(int)}.
   *
   * @param waiting how blocking calls wait
   */
  public void takeSteps(Waiting waiting) {
    synchronized (wire) {
      wire.stepped = true;
      wire.waiting = waiting;
    }
  }

  /**
   * Breaks a promise of the device on purpose.
   *
   * @param every strikes at every so-many-th occasion, counted over all queue pairs
   */
  public void breakPromise(Defect defect, int every) {
    synchronized (wire) {
      wire.breakPromise(defect, every);
    }
  }

  /** Loses the word that an end has disconnected, as a network does that drops RDMA alone. */
  public void loseDisconnects() {
    synchronized (wire) {
      wire.losesDisconnects = true;
    }
  }

  /** Returns what refuses calls. */
  public Faults faults() {
    return wire.faults;
  }

  /** Returns what was asked and what is alive. */
  public Ledger ledger() {
    return wire.ledger;
  }

  /** Returns the connection manager, to script its events. */
  public ScriptedConnectionManager connectionManager() {
    return connectionManager;
  }

  @Override
  public Availability availability() {
    return devices().stream().anyMatch(info -> info.availability().usable())
        ? Availability.usable("scripted devices " + devices.keySet())
        : Availability.unusable("no scripted device can be opened");
  }

  @Override
  public List<DeviceInfo> devices() {
    synchronized (wire) {
      return devices.values().stream().map(ScriptedDevice::info).toList();
    }
  }

  @Override
  public Device open(String deviceName) {
    synchronized (wire) {
      ScriptedDevice device = devices.get(deviceName);
      if (device == null) {
        throw Faults.failure("ibv_open_device", Errno.ENODEV, "no device " + deviceName);
      }
      return device.open();
    }
  }

  @Override
  public List<PortAddress> portAddresses() {
    synchronized (wire) {
      List<PortAddress> all = new ArrayList<>();
      for (ScriptedDevice device : devices.values()) {
        device.ports().forEach(port -> port.addresses().forEach(all::add));
      }
      return all;
    }
  }

  @Override
  public CmId createCmId() {
    synchronized (wire) {
      wire.faults.enter("rdma_create_id", this);
      return new ScriptedCmId(wire, connectionManager);
    }
  }

  @Override
  public String toString() {
    return "scripted verbs " + devices.keySet();
  }
}
