package io.rdma4j.tools.doctor;

import com.fasterxml.jackson.jr.ob.JSON;
import io.rdma4j.host.DeviceReport;
import io.rdma4j.host.GidReport;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.HugePagesReport;
import io.rdma4j.host.LibraryReport;
import io.rdma4j.host.LimitsReport;
import io.rdma4j.host.PortReport;
import io.rdma4j.tools.doctor.Diagnosis.Verdict;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
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
            "devices", diagnosis.verdicts().stream().map(DiagnosisJson::device).toList(),
            "limits", limits(host.limits()),
            "libraries", host.libraries().stream().map(DiagnosisJson::library).toList(),
            "hugePages", hugePages(host.hugePages()),
            "deviceNodes", host.deviceNodes(),
            "kernelModules", host.kernelModules(),
            "numaNodes", host.numaNodes(),
            "findings", diagnosis.findings().stream().map(DiagnosisJson::finding).toList()));
  }

  private static Map<String, @Nullable Object> device(Verdict verdict) {
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
        "ports", device.ports().stream().map(DiagnosisJson::port).toList());
  }

  private static Map<String, @Nullable Object> port(PortReport port) {
    GidReport recommended = port.recommendedGid();
    return object(
        "port", port.number(),
        "state", port.state(),
        "linkLayer", port.linkLayer(),
        "rate", port.rate(),
        "mtu", port.mtuBytes(),
        "mtuSource", port.mtuSource(),
        "gids", port.gids().stream().map(DiagnosisJson::gid).toList(),
        "recommendedGidIndex", recommended == null ? null : recommended.index());
  }

  private static Map<String, @Nullable Object> gid(GidReport gid) {
    return object(
        "index", gid.index(),
        "type", gid.type() == null ? null : gid.type().label(),
        "gid", gid.gid(),
        "netdev", gid.netdev());
  }

  private static Map<String, @Nullable Object> limits(LimitsReport limits) {
    return object(
        "memlockBytes", limit(limits.memlockBytes()),
        "memlockHardBytes", limit(limits.memlockHardBytes()),
        "ipcLock", limits.ipcLock());
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
