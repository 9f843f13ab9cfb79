package io.rdma4j.host;

import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Which libibverbs provider serves a kernel driver. */
final class Providers {
  private static final Map<String, String> BY_KERNEL_DRIVER =
      Map.ofEntries(
          Map.entry("mlx5_core", "mlx5"),
          Map.entry("mlx4_core", "mlx4"),
          Map.entry("ice", "irdma"),
          Map.entry("i40e", "irdma"),
          Map.entry("idpf", "irdma"),
          Map.entry("bnxt_en", "bnxt_re"),
          Map.entry("cxgb4", "cxgb4"),
          Map.entry("efa", "efa"),
          Map.entry("erdma", "erdma"),
          Map.entry("hns3", "hns"),
          Map.entry("mana", "mana"),
          Map.entry("qede", "qedr"),
          Map.entry("vmw_pvrdma", "vmw_pvrdma"));

  /** Names that drivers give devices, for trees that lack the driver's link. */
  private static final Map<String, String> BY_DEVICE_PREFIX =
      Map.of(
          "mlx5_", "mlx5",
          "mlx4_", "mlx4",
          "irdma", "irdma",
          "i40iw", "irdma",
          "bnxt_re", "bnxt_re",
          "erdma_", "erdma",
          "efa_", "efa",
          "hns_", "hns",
          "rxe", "rxe",
          "siw", "siw");

  private static final Set<String> SOFTWARE = Set.of("rxe", "siw");

  private Providers() {}

  /** Whether a provider drives a device made of software. */
  static boolean isSoftware(String provider) {
    return SOFTWARE.contains(provider);
  }

  /**
   * Returns the provider's name, null when neither hint is known.
   *
   * @param driverLink where the bus device's {@code driver} link leads
   * @param device kernel name of the device
   */
  static @Nullable String of(@Nullable String driverLink, String device) {
    if (driverLink != null) {
      return BY_KERNEL_DRIVER.get(driverLink.substring(driverLink.lastIndexOf('/') + 1));
    }
    for (var entry : BY_DEVICE_PREFIX.entrySet()) {
      if (device.startsWith(entry.getKey())) {
        return entry.getValue();
      }
    }
    return null;
  }
}
