package io.rdma4j.bench;

import io.netty.util.Version;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What a figure was measured on; no figure means anything without it. */
public final class Machine {
  private static final List<String> SETTINGS =
      List.of(
          "GLIBC_TUNABLES",
          "LD_PRELOAD",
          "MALLOC_CONF",
          "MIMALLOC_ALLOW_DECOMMIT",
          "TCMALLOC_RELEASE_RATE");

  private Machine() {}

  /** Returns facts about processor, kernel, JVM and allocator settings. */
  public static Map<String, Object> facts() throws IOException {
    Map<String, Object> facts = new LinkedHashMap<>();
    facts.put("cpu", cpuModel());
    facts.put("processors", Runtime.getRuntime().availableProcessors());
    facts.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    facts.put("architecture", System.getProperty("os.arch"));
    facts.put("load", Files.readString(Path.of("/proc/loadavg")).strip());
    facts.put(
        "jdk", System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"));
    facts.put(
        "collectors",
        ManagementFactory.getGarbageCollectorMXBeans().stream()
            .map(GarbageCollectorMXBean::getName)
            .toList());
    facts.put("jvmOptions", ManagementFactory.getRuntimeMXBean().getInputArguments());
    Map<String, String> settings = new TreeMap<>(System.getenv());
    settings.keySet().retainAll(SETTINGS);
    facts.put("environment", settings);
    Version netty = Version.identify().get("netty-buffer");
    facts.put("netty", netty == null ? "unknown" : netty.artifactVersion());
    return facts;
  }

  /** Returns what the kernel thinks can be had without swapping (MemAvailable in proc(5)). */
  public static long availableMemoryBytes() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/meminfo"))) {
      if (line.startsWith("MemAvailable:")) {
        return Long.parseLong(line.replaceAll("\\D", "")) << 10;
      }
    }
    throw new IOException("/proc/meminfo has no MemAvailable");
  }

  /**
   * Returns the page faults of this process so far that the kernel answered without reading a disk
   * (minflt, the tenth field of /proc/self/stat, in proc(5)).
   */
  public static long minorPageFaults() throws IOException {
    String stat = Files.readString(Path.of("/proc/self/stat"));
    // The second field is the command's name in brackets, blanks included.
    return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[7]);
  }

  /** x86 names the model here; other processors have numbers only, which lscpu(1) would decode. */
  private static String cpuModel() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/cpuinfo"))) {
      if (line.startsWith("model name") || line.startsWith("CPU part")) {
        return line.substring(line.indexOf(':') + 1).strip();
      }
    }
    return "unknown";
  }
}
