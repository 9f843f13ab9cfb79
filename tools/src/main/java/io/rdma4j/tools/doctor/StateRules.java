package io.rdma4j.tools.doctor;

import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.GidReport;
import io.rdma4j.host.PortReport;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Judges what became of devices, ports and addresses between two snapshots. */
final class StateRules {
  private final List<Finding> findings = new ArrayList<>();

  private StateRules() {}

  static List<Finding> judge(Snapshot earlier, Snapshot later) {
    StateRules rules = new StateRules();
    for (DeviceReport before : earlier.host().devices()) {
      DeviceReport now = later.device(before.name());
      if (now == null) {
        rules.deviceGone(before);
      } else if (Snapshot.tellsStates(now)) {
        before.ports().forEach(port -> rules.comparePort(before, port, port(now, port.number())));
      }
    }
    return rules.findings;
  }

  private static @Nullable PortReport port(DeviceReport device, int number) {
    return device.ports().stream().filter(p -> p.number() == number).findFirst().orElse(null);
  }

  private void deviceGone(DeviceReport device) {
    findings.add(
        Finding.error(
            "device-gone",
            device.name() + " is gone: the later reading does not list it.",
            "/sys/class/infiniband/" + device.name() + " was there in the earlier reading",
            "Look into the kernel log (dmesg) for a reset, an unbound driver or a lost card. All"
                + " that was made on the device is dead: close it, and open the device anew."));
  }

  private void comparePort(DeviceReport device, PortReport before, @Nullable PortReport now) {
    if (now == null) {
      return;
    }
    String where = device.name() + " port " + now.number();
    String states = Objects.toString(before.state(), "unknown") + " -> " + now.state();
    if (before.isActive() && now.state() != null && !now.isActive()) {
      findings.add(
          Finding.warning(
              "port-went-down",
              where + " went down between the readings; other ports are not concerned.",
              "state " + states,
              "Check cable and switch port. Its queue pairs run into their retry limit within"
                  + " seconds; connect anew once it is active, old queue pairs do not come back."));
    } else if (!before.isActive() && now.isActive()) {
      findings.add(
          Finding.info(
              "port-came-up",
              where + " came up between the readings.",
              "state " + states,
              "Read its GID table anew before connecting: indexes may have moved."));
    }
    compareGid(where, before.recommendedGid(), now);
  }

  private void compareGid(String where, @Nullable GidReport before, PortReport now) {
    if (before == null || now.gids().contains(before)) {
      return;
    }
    GidReport moved =
        now.gids().stream()
            .filter(g -> g.gid().equals(before.gid()) && g.type() == before.type())
            .findFirst()
            .orElse(null);
    String address = before.ipv4() == null ? before.gid() : before.ipv4();
    findings.add(
        Finding.warning(
            "gid-moved",
            moved == null
                ? where + " lost the address " + address + " of GID index " + before.index() + "."
                : where
                    + " has the address "
                    + address
                    + " at GID index "
                    + moved.index()
                    + " now, it was "
                    + before.index()
                    + ".",
            "gids/" + before.index() + " was " + before.gid() + " on " + before.netdev(),
            "Queue pairs set up with the old index fail. rdma_cm, and so rdma4j, finds the index by"
                + " the address; a configured sgid_index has to be looked up again."));
  }
}
