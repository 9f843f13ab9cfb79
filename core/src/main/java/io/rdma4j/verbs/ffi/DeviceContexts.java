package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import io.rdma4j.Availability;
import io.rdma4j.VerbsException;
import io.rdma4j.verbs.DeviceInfo;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Finds devices and opens their contexts.
 *
 * <p>Where librdmacm works, contexts are those it holds itself: a queue pair of an identifier needs
 * a protection domain on that very context. It keeps them for the life of the process. Elsewhere
 * they come from ibv_open_device and are closed again.
 */
final class DeviceContexts {
  private static final long DEVICE_BYTES = 24;
  private static final Path SYSFS = Path.of("/sys/class/infiniband");

  private final LibIbverbs ibverbs;
  private final @Nullable LibRdmacm rdmacm;

  /** Contexts of librdmacm that a list kept back on purpose holds open. */
  private final Set<Long> held = new HashSet<>();

  DeviceContexts(LibIbverbs ibverbs, @Nullable LibRdmacm rdmacm) {
    this.ibverbs = ibverbs;
    this.rdmacm = rdmacm;
  }

  /** Returns all devices, usable or not, by name. */
  synchronized List<DeviceInfo> list() {
    Map<String, DeviceInfo> devices = new TreeMap<>();
    for (String name : sysfsNames()) {
      devices.put(
          name,
          new DeviceInfo(
              name,
              0,
              DeviceInfo.Transport.OTHER,
              Availability.unusable(
                  "libibverbs does not offer it: its driver is missing (apt-get install"
                      + " ibverbs-providers) or ib_uverbs is not loaded (modprobe ib_uverbs)")));
    }
    try (Frame frame = new Frame()) {
      Map<String, MemorySegment> contexts = rdmacmContexts(frame, false);
      MemorySegment list = deviceList(frame);
      if (list.address() != 0) {
        try {
          for (long i = 0; list.getAtIndex(ADDRESS, i).address() != 0; i++) {
            DeviceInfo info = describe(frame, list.getAtIndex(ADDRESS, i), contexts);
            devices.put(info.name(), info);
          }
        } finally {
          ibverbs.freeDeviceList.run(frame, list);
        }
      }
    }
    return List.copyOf(devices.values());
  }

  private DeviceInfo describe(
      Frame frame, MemorySegment device, Map<String, MemorySegment> contexts) {
    String name = name(frame, device);
    return new DeviceInfo(
        name,
        Long.reverseBytes(ibverbs.getDeviceGuid.longValue(frame, device)),
        transport(sized(device, DEVICE_BYTES).get(JAVA_INT, Layouts.DEVICE_TRANSPORT)),
        contexts.containsKey(name)
            ? Availability.usable("can be opened")
            : tryOpening(frame, device, name));
  }

  private static DeviceInfo.Transport transport(int number) {
    if (number == Layouts.IBV_TRANSPORT_IB) {
      return DeviceInfo.Transport.INFINIBAND;
    }
    return number == Layouts.IBV_TRANSPORT_IWARP
        ? DeviceInfo.Transport.IWARP
        : DeviceInfo.Transport.OTHER;
  }

  private Availability tryOpening(Frame frame, MemorySegment device, String name) {
    MemorySegment context = ibverbs.openDevice.pointer(frame, device);
    if (context.address() == 0) {
      return Availability.unusable(String.valueOf(openFailure(name, frame.errno()).getMessage()));
    }
    int errno = ibverbs.closeDevice.status(frame, context);
    if (errno != 0) {
      throw Errno.failure(ibverbs.closeDevice.name(), errno, "device " + name);
    }
    return Availability.usable("can be opened");
  }

  private VerbsException openFailure(String name, int errno) {
    return Errno.failure(
        ibverbs.openDevice.name(),
        errno,
        "device " + name,
        "its node in /dev/infiniband must be there and open to this user (container: pass"
            + " --device=/dev/infiniband; host: modprobe ib_uverbs)");
  }

  /** Says why {@link #list()} is empty. */
  String whyNone() {
    try (Frame frame = new Frame()) {
      MemorySegment list = deviceList(frame);
      if (list.address() == 0) {
        return "the kernel offers no RDMA ("
            + Errno.describe(frame.errno())
            + "): load ib_uverbs and the driver of the NIC, or run without RDMA";
      }
      ibverbs.freeDeviceList.run(frame, list);
      return "there is no RDMA device: load the driver of the NIC, or for a try-out"
          + " modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0";
    }
  }

  /** Opens a device. */
  synchronized NativeDevice open(NativeVerbs verbs, String name) {
    try (Frame frame = new Frame()) {
      MemorySegment shared = rdmacmContexts(frame, true).get(name);
      if (shared != null) {
        return new NativeDevice(verbs, name, sized(shared, Layouts.CONTEXT_BYTES), true);
      }
      MemorySegment context = openByName(frame, name);
      try {
        return new NativeDevice(verbs, name, sized(context, Layouts.CONTEXT_BYTES), false);
      } catch (Throwable e) {
        int errno = ibverbs.closeDevice.status(frame, context);
        if (errno != 0) {
          e.addSuppressed(Errno.failure(ibverbs.closeDevice.name(), errno, "device " + name));
        }
        throw e;
      }
    }
  }

  private MemorySegment openByName(Frame frame, String name) {
    Set<String> names = new HashSet<>();
    MemorySegment list = deviceList(frame);
    if (list.address() != 0) {
      try {
        for (long i = 0; list.getAtIndex(ADDRESS, i).address() != 0; i++) {
          MemorySegment device = list.getAtIndex(ADDRESS, i);
          names.add(name(frame, device));
          if (name.equals(name(frame, device))) {
            MemorySegment context = ibverbs.openDevice.pointer(frame, device);
            if (context.address() == 0) {
              throw openFailure(name, frame.errno());
            }
            return context;
          }
        }
      } finally {
        ibverbs.freeDeviceList.run(frame, list);
      }
    }
    throw new VerbsException(
        ibverbs.openDevice.name(),
        Errno.ENODEV,
        ibverbs.openDevice.name()
            + ": there is no device "
            + name
            + " among "
            + names
            + (names.isEmpty() ? ", " + whyNone() : ""));
  }

  /**
   * Returns the contexts that librdmacm holds, by device name; none where it does not work.
   *
   * @param keep true to hold them open from now on
   */
  private Map<String, MemorySegment> rdmacmContexts(Frame frame, boolean keep) {
    Map<String, MemorySegment> contexts = new LinkedHashMap<>();
    if (rdmacm == null) {
      return contexts;
    }
    MemorySegment count = frame.allocate(JAVA_INT.byteSize());
    MemorySegment list = rdmacm.getDevices.pointer(frame, count);
    if (list.address() == 0) {
      return contexts;
    }
    int size = count.get(JAVA_INT, 0);
    list = sized(list, (size + 1L) * ADDRESS.byteSize());
    boolean isNew = false;
    for (int i = 0; i < size; i++) {
      MemorySegment context = list.getAtIndex(ADDRESS, i);
      MemorySegment device =
          sized(context, Layouts.CONTEXT_BYTES).get(ADDRESS, Layouts.CONTEXT_DEVICE);
      contexts.put(name(frame, device), context);
      isNew |= keep && held.add(context.address());
    }
    if (!isNew) {
      rdmacm.freeDevices.run(frame, list);
    }
    return contexts;
  }

  /** Returns the null-terminated list of devices, or null with errno in the frame. */
  private MemorySegment deviceList(Frame frame) {
    MemorySegment count = frame.allocate(JAVA_INT.byteSize());
    MemorySegment list = ibverbs.getDeviceList.pointer(frame, count);
    return list.address() == 0
        ? list
        : sized(list, (count.get(JAVA_INT, 0) + 1L) * ADDRESS.byteSize());
  }

  /** Returns the name of the device of an open context. */
  String nameOfContext(Frame frame, MemorySegment context) {
    return name(frame, sized(context, Layouts.CONTEXT_BYTES).get(ADDRESS, Layouts.CONTEXT_DEVICE));
  }

  private String name(Frame frame, MemorySegment device) {
    return sized(ibverbs.getDeviceName.pointer(frame, device), 64).getString(0);
  }

  private static List<String> sysfsNames() {
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(SYSFS)) {
      List<String> names = new ArrayList<>();
      entries.forEach(entry -> names.add(String.valueOf(entry.getFileName())));
      return names;
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      throw new UncheckedIOException(SYSFS + " cannot be read", e);
    }
  }

  @SuppressWarnings("restricted")
  private static MemorySegment sized(MemorySegment pointer, long bytes) {
    return pointer.reinterpret(bytes);
  }
}
