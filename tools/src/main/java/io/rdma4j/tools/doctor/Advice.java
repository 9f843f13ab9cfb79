package io.rdma4j.tools.doctor;

import io.rdma4j.host.HostReport;
import java.util.List;

/** Words that several findings share. */
final class Advice {
  static final String INSTALL_LIBRARIES =
      "Debian, Ubuntu: apt install libibverbs1 librdmacm1 ibverbs-providers. RHEL and relatives:"
          + " dnf install libibverbs librdmacm.";

  static final String INSTALL_PROVIDERS =
      "Debian, Ubuntu: apt install ibverbs-providers. RHEL and relatives: dnf install libibverbs."
          + " Cards on a vendor's own driver need the vendor's user-space package.";

  static final String RAISE_MEMLOCK =
      "systemd service: LimitMEMLOCK=infinity under [Service], then daemon-reload and restart."
          + " Login sessions: '* - memlock unlimited' in /etc/security/limits.d/rdma.conf, then log"
          + " in again. Docker, Podman: --ulimit memlock=-1:-1. Kubernetes: add the capability"
          + " IPC_LOCK to the container's securityContext.";

  static final String GET_A_DEVICE =
      "With a network card: load its RDMA driver (for example modprobe mlx5_ib, irdma or bnxt_re)"
          + " and see what 'rdma link' lists. In a container: start it with"
          + " --device=/dev/infiniband. Without a card: modprobe rdma_rxe, then rdma link add rxe0"
          + " type rxe netdev eth0. Until then rdma4j connects over shared memory and TCP.";

  static final String ROCE_CHECKLIST =
      "One priority for RDMA, the same everywhere (3 is usual). Hosts: class by DSCP, since RoCE v2"
          + " is routed and VLAN tags end at routers (mlnx_qos --trust dscp); give connections its"
          + " DSCP (26 is usual: cma_roce_tos, default_roce_tos); priority flow control on that"
          + " priority alone (mlnx_qos --pfc 0,0,0,1,0,0,0,0 or dcb pfc), so that bursts wait"
          + " instead of being dropped; DCQCN on, so that pauses stay rare. Switches: the same DSCP"
          + " to priority map, flow control on that priority with headroom for the cable length,"
          + " ECN marking below the point where pauses begin, CNPs (DSCP 48) in a strict queue, a"
          + " pause watchdog. Then watch: --watch while it works.";

  static final String MAKE_LOSSLESS =
      "On both ends and every switch between: is priority flow control on for the priority of RDMA"
          + " (mlnx_qos -i NETDEV, dcb pfc show), do packets land there (trust DSCP, DSCP to"
          + " priority map; see rx_prioN_bytes in ethtool -S), does ECN mark before queues are"
          + " full? If all that is set, look for discards at the switch ports and for a bad link.";

  static final String COPY_THE_TREE =
      "Copy /sys/class/infiniband with what its links lead to (/sys/devices). If the machine has no"
          + " device: ";

  private Advice() {}

  /** Words what {@code /dev/infiniband} holds. */
  static String deviceNodes(HostReport host) {
    List<String> nodes = host.deviceNodes();
    if (nodes == null) {
      return "/dev/infiniband is not in the tree";
    }
    return nodes.isEmpty()
        ? "/dev/infiniband is missing or empty"
        : "/dev/infiniband holds " + String.join(", ", nodes);
  }
}
