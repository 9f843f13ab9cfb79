package io.rdma4j.tools.doctor;

import com.fasterxml.jackson.jr.ob.JSON;
import io.rdma4j.host.CgroupReport;
import io.rdma4j.host.CgroupReport.RdmaQuota;
import io.rdma4j.host.CounterDelta;
import io.rdma4j.host.CounterSignal;
import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.GidReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.HostReport.Unreadable;
import io.rdma4j.host.HugePagesReport;
import io.rdma4j.host.LibraryReport;
import io.rdma4j.host.LimitsReport;
import io.rdma4j.host.PcieLink;
import io.rdma4j.host.PortCounters;
import io.rdma4j.host.PortReport;
import io.rdma4j.host.RoceSettings;
import io.rdma4j.tools.doctor.Diagnosis.Verdict;
import java.io.IOException;
import java.math.BigInteger;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Writes a diagnosis as JSON. Every key is always there; null means unknown. */
final class DiagnosisJson {
  private static final JSON WRITER =
      JSON.std.with(JSON.Feature.PRETTY_PRINT_OUTPUT, JSON.Feature.WRITE_NULL_PROPERTIES);

  private DiagnosisJson() {}

  static String render(Diagnosis diagnosis) throws IOException {
    HostReport host = diagnosis.host();
    return WRITER.asString(
        object(
            "devices",
                diagnosis.verdicts().stream().map(v -> device(v, diagnosis.snapshot())).toList(),
            "limits", limits(host),
            "libraries", host.libraries().stream().map(DiagnosisJson::library).toList(),
            "hugePages", hugePages(host.hugePages()),
            "deviceNodes", host.deviceNodes(),
            "kernelModules", host.kernelModules(),
            "numaNodes", host.numaNodes() == null ? null : host.numaNodes().size(),
            "comparison", comparison(diagnosis.comparison()),
            "findings", diagnosis.findings().stream().map(DiagnosisJson::finding).toList()));
  }

  private static Map<String, @Nullable Object> device(Verdict verdict, Snapshot snapshot) {
    DeviceReport device = verdict.device();
    return object(
        "name", device.name(),
        "transport", device.transport() == null ? null : device.transport().label(),
        "numaNode", device.numaNode(),
        "usable", verdict.usable(),
        "reasons", verdict.reasons(),
        "firmware", device.firmware(),
        "model", device.model(),
        "driver", device.driver(),
        "software", device.virtual(),
        "node", device.node().path(),
        "nodeState", device.node().state().name().toLowerCase(Locale.ROOT),
        "pcie", pcie(device.pcie()),
        "ports", device.ports().stream().map(p -> port(p, device.name(), snapshot)).toList());
  }

  private static @Nullable Map<String, @Nullable Object> pcie(@Nullable PcieLink link) {
    return link == null
        ? null
        : object(
            "lanes", link.lanes(),
            "gigatransfers", link.gigatransfers(),
            "maxLanes", link.maxLanes(),
            "maxGigatransfers", link.maxGigatransfers());
  }

  private static Map<String, @Nullable Object> port(
      PortReport port, String device, Snapshot snapshot) {
    PortCounters counters =
        snapshot.counters().stream()
            .filter(c -> c.device().equals(device) && c.port() == port.number())
            .findFirst()
            .orElse(null);
    GidReport recommended = port.recommendedGid();
    return object(
        "port", port.number(),
        "state", port.state(),
        "linkLayer", port.linkLayer(),
        "rate", port.rate(),
        "mtu", port.mtuBytes(),
        "mtuSource", port.mtuSource(),
        "gids", port.gids().stream().map(DiagnosisJson::gid).toList(),
        "recommendedGidIndex", recommended == null ? null : recommended.index(),
        "netdev", port.netdev(),
        "roce", roce(port.roce()),
        "counters", counters == null ? Map.of() : unsigned(counters.values()),
        "unreadableCounters",
            counters == null
                ? List.of()
                : counters.missing().stream().map(Unreadable::path).toList());
  }

  private static @Nullable Map<String, @Nullable Object> roce(@Nullable RoceSettings roce) {
    return roce == null
        ? null
        : object(
            "trust", roce.trust(),
            "notificationPriorities", roce.notificationPriorities(),
            "reactionPriorities", roce.reactionPriorities(),
            "dscp", roce.dscp());
  }

  /** Values of 64 bits without a sign. */
  private static Map<String, Object> unsigned(Map<String, Long> values) {
    Map<String, Object> numbers = new LinkedHashMap<>();
    values.forEach(
        (name, value) ->
            numbers.put(name, value >= 0 ? value : new BigInteger(Long.toUnsignedString(value))));
    return numbers;
  }

  private static @Nullable Map<String, @Nullable Object> comparison(
      @Nullable Comparison comparison) {
    return comparison == null
        ? null
        : object(
            "seconds",
            comparison.seconds(),
            "ports",
            comparison.deltas().stream().map(DiagnosisJson::delta).toList());
  }

  private static Map<String, @Nullable Object> delta(CounterDelta delta) {
    Map<String, Object> changes = new LinkedHashMap<>();
    Map<String, Object> inexact = new LinkedHashMap<>();
    delta
        .changes()
        .forEach(
            (name, change) -> {
              changes.put(name, change.increase());
              if (change.how() != CounterDelta.How.COUNTED) {
                inexact.put(name, change.how().name().toLowerCase(Locale.ROOT));
              }
            });
    return object(
        "device", delta.device(),
        "port", delta.port(),
        "reset", delta.reset(),
        "sentBytes", known(delta.increase(CounterSignal.SENT_BYTES)),
        "receivedBytes", known(delta.increase(CounterSignal.RECEIVED_BYTES)),
        "increases", changes,
        "notPlainlyCounted", inexact);
  }

  private static @Nullable Long known(OptionalLong value) {
    return value.isPresent() ? value.getAsLong() : null;
  }

  private static Map<String, @Nullable Object> gid(GidReport gid) {
    return object(
        "index", gid.index(),
        "type", gid.type() == null ? null : gid.type().label(),
        "gid", gid.gid(),
        "netdev", gid.netdev());
  }

  private static Map<String, @Nullable Object> limits(HostReport host) {
    LimitsReport limits = host.limits();
    CgroupReport cgroup = host.cgroup();
    return object(
        "memlockBytes", limit(limits.memlockBytes()),
        "memlockHardBytes", limit(limits.memlockHardBytes()),
        "ipcLock", limits.ipcLock(),
        "openFiles", limit(limits.openFiles()),
        "cgroupVersion", cgroup.version(),
        "cgroupMemoryBytes", limit(cgroup.memoryMaxBytes()),
        "rdmaQuotas", cgroup.rdma().stream().map(DiagnosisJson::quota).toList());
  }

  private static Map<String, @Nullable Object> quota(RdmaQuota quota) {
    return object(
        "device", quota.device(),
        "maxHandles", limit(quota.maxHandles()),
        "maxObjects", limit(quota.maxObjects()),
        "usedHandles", quota.usedHandles(),
        "usedObjects", quota.usedObjects());
  }

  private static @Nullable Object limit(@Nullable Long bytes) {
    return bytes != null && bytes == LimitsReport.UNLIMITED ? "unlimited" : bytes;
  }

  private static Map<String, @Nullable Object> library(LibraryReport library) {
    return object(
        "name", library.name(),
        "kind", library.kind().name().toLowerCase(Locale.ROOT),
        "found", library.found(),
        "path", library.path(),
        "version", library.version());
  }

  private static Map<String, @Nullable Object> hugePages(HugePagesReport hugePages) {
    List<HugePagesReport.Pool> pools = hugePages.pools();
    return object(
        "pools",
        pools == null
            ? null
            : pools.stream()
                .map(
                    pool ->
                        object(
                            "pageBytes", pool.pageBytes(),
                            "total", pool.total(),
                            "free", pool.free()))
                .toList(),
        "transparent",
        hugePages.transparent());
  }

  private static Map<String, @Nullable Object> finding(Finding finding) {
    return object(
        "id", finding.id(),
        "severity", finding.severity().label(),
        "text", finding.text(),
        "evidence", finding.evidence(),
        "nextStep", finding.nextStep());
  }

  private static Map<String, @Nullable Object> object(@Nullable Object... keysAndValues) {
    Map<String, @Nullable Object> object = new LinkedHashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      object.put(String.valueOf(keysAndValues[i]), keysAndValues[i + 1]);
    }
    return object;
  }
}
