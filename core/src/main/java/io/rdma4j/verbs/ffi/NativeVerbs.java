package io.rdma4j.verbs.ffi;

import io.rdma4j.Availability;
import io.rdma4j.VerbsException;
import io.rdma4j.os.Limits;
import io.rdma4j.os.PageSize;
import io.rdma4j.os.SystemRoot;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.DeviceInfo;
import io.rdma4j.verbs.PinnedMemory;
import io.rdma4j.verbs.PortAddress;
import io.rdma4j.verbs.Verbs;
import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The RDMA stack of this machine through its own libraries.
 *
 * <p>One for each process in production, see {@link #system()}; tests make more of them.
 */
public final class NativeVerbs implements Verbs {
  private static final String INSTALL =
      "install the RDMA user space, for example apt-get install libibverbs1 ibverbs-providers"
          + " librdmacm1, or dnf install libibverbs librdmacm";

  private final String ibverbsName;
  private final PinnedMemory pinnedMemory =
      new PinnedMemory(PageSize.bytes(), NativeVerbs::lockedMemoryLimit);
  private final @Nullable LibIbverbs ibverbs;
  private final @Nullable LibRdmacm rdmacm;
  private final @Nullable DeviceContexts contexts;
  private final String ibverbsProblem;
  private final String rdmacmProblem;
  private final Map<String, NativeDevice> open = new HashMap<>();

  /** Loads the libraries; one that is missing is a state, not a failure. */
  NativeVerbs(String ibverbsName, String rdmacmName) {
    this.ibverbsName = ibverbsName;
    LibIbverbs loadedIbverbs = null;
    LibRdmacm loadedRdmacm = null;
    String noIbverbs = "";
    String noRdmacm = "";
    try {
      loadedIbverbs = new LibIbverbs(SharedLibrary.load(ibverbsName));
    } catch (IllegalArgumentException | IllegalCallerException e) {
      noIbverbs = problem(ibverbsName, e);
    }
    try {
      loadedRdmacm = new LibRdmacm(SharedLibrary.load(rdmacmName));
    } catch (IllegalArgumentException | IllegalCallerException e) {
      noRdmacm = problem(rdmacmName, e);
    }
    ibverbs = loadedIbverbs;
    rdmacm = loadedRdmacm;
    ibverbsProblem = noIbverbs;
    rdmacmProblem = noRdmacm;
    contexts = ibverbs == null ? null : new DeviceContexts(ibverbs, rdmacm);
    if (ibverbs != null) {
      prepareFork(ibverbs);
    }
  }

  private static long lockedMemoryLimit() {
    return Limits.lockedMemory(SystemRoot.host()).map(Limits::softBytes).orElse(Limits.UNLIMITED);
  }

  private static String problem(String library, RuntimeException e) {
    return e instanceof IllegalCallerException
        ? "native access is denied, start with --enable-native-access=io.rdma4j.core: "
            + e.getMessage()
        : library + " cannot be loaded (" + e.getMessage() + "): " + INSTALL;
  }

  /**
   * Keeps pinned pages in place when the process forks. Kernels since 5.12 copy pinned pages for
   * the child, and the library says so; older ones need a call before anything is registered.
   */
  private static void prepareFork(LibIbverbs ibverbs) {
    try (Frame frame = new Frame()) {
      NativeFunction status = ibverbs.isForkInitialized;
      if (status != null && status.status(frame) == Layouts.IBV_FORK_UNNEEDED) {
        return;
      }
      int errno = ibverbs.forkInit.status(frame);
      if (errno != 0 && errno != Errno.ENOSYS) {
        System.getLogger(NativeVerbs.class.getName())
            .log(
                System.Logger.Level.WARNING,
                "ibv_fork_init: {0}; do not fork this process by native code while memory is"
                    + " registered",
                Errno.describe(errno));
      }
    }
  }

  /** Returns the stack of this machine; what is missing shows in {@link #availability()}. */
  public static NativeVerbs system() {
    return Loaded.INSTANCE;
  }

  LibIbverbs ibverbs() {
    return require(ibverbs, "ibv_get_device_list", ibverbsProblem);
  }

  LibRdmacm rdmacm() {
    return require(rdmacm, "rdma_create_event_channel", rdmacmProblem);
  }

  private static <T> T require(@Nullable T library, String call, String problem) {
    if (library == null) {
      throw new VerbsException(call, 0, problem);
    }
    return library;
  }

  String ibverbsName() {
    return ibverbsName;
  }

  PinnedMemory pinnedMemory() {
    return pinnedMemory;
  }

  @Override
  public Availability availability() {
    if (contexts == null) {
      return Availability.unusable(ibverbsProblem);
    }
    List<DeviceInfo> devices = contexts.list();
    if (devices.isEmpty()) {
      return Availability.unusable(contexts.whyNone());
    }
    String usable =
        devices.stream()
            .filter(device -> device.availability().usable())
            .map(DeviceInfo::name)
            .collect(Collectors.joining(", "));
    if (usable.isEmpty()) {
      return Availability.unusable(
          devices.stream()
              .map(device -> device.name() + ": " + device.availability().reason())
              .collect(Collectors.joining("; ")));
    }
    return Availability.usable(
        usable + (rdmacmProblem.isEmpty() ? "" : "; no connections, as " + rdmacmProblem));
  }

  @Override
  public List<DeviceInfo> devices() {
    return contexts == null ? List.of() : contexts.list();
  }

  @Override
  public Device open(String deviceName) {
    return openShared(deviceName);
  }

  NativeDevice openShared(String deviceName) {
    DeviceContexts available = require(contexts, "ibv_open_device", ibverbsProblem);
    synchronized (open) {
      NativeDevice present = open.get(deviceName);
      if (present != null && present.tryOpen()) {
        return present;
      }
      NativeDevice device = available.open(this, deviceName);
      open.put(deviceName, device);
      return device;
    }
  }

  /** Opens the device that librdmacm has bound an identifier to. */
  NativeDevice openContext(MemorySegment context) {
    String name = nameOfContext(context);
    NativeDevice device = openShared(name);
    if (device.address() != context.address()) {
      device.close();
      throw new VerbsException(
          "rdma_get_devices",
          Errno.ENODEV,
          "device "
              + name
              + " was opened before librdmacm knew it; close it and open it again for connections");
    }
    return device;
  }

  /** Returns the name of the device of an open context. */
  String nameOfContext(MemorySegment context) {
    try (Frame frame = new Frame()) {
      return require(contexts, "ibv_open_device", ibverbsProblem).nameOfContext(frame, context);
    }
  }

  /** Forgets a device that its last opener has left. */
  void forget(NativeDevice device) {
    synchronized (open) {
      open.remove(device.name(), device);
    }
  }

  @Override
  public List<PortAddress> portAddresses() {
    return PortAddresses.find(this);
  }

  @Override
  public CmId createCmId() {
    return NativeCmId.create(this);
  }

  /** Loads the libraries at the first use. */
  private static final class Loaded {
    static final NativeVerbs INSTANCE =
        new NativeVerbs(
            System.getProperty("rdma4j.verbs.library", "libibverbs.so.1"),
            System.getProperty("rdma4j.rdmacm.library", "librdmacm.so.1"));
  }
}
