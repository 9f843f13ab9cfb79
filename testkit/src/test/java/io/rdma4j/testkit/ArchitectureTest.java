package io.rdma4j.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import io.rdma4j.Availability;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Holds the seams of core: who may know whom, who links natives, what core needs at run time. */
final class ArchitectureTest {
  private static final String ROOT = "io.rdma4j";

  /**
   * Packages of core, and those each may use beside itself and {@code io.rdma4j}.
   *
   * <pre>
   *   transport -> provider, pool, diagnosis, status, concurrent
   *   diagnosis -> status, host
   *   provider.verbs -> verbs <-> verbs.ffi -> os      provider.{shm,tcp} -> os
   *   pool -> provider, os, status, concurrent
   *   status -> concurrent -> nothing                  host -> nothing
   * </pre>
   */
  private static final Map<String, Set<String>> MAY_USE =
      Map.ofEntries(
          // The entry point names what the others hold, so it stands apart.
          Map.entry("", Set.of()),
          Map.entry("concurrent", Set.of()),
          Map.entry("diagnosis", Set.of("status", "host", "concurrent")),
          Map.entry("host", Set.of()),
          Map.entry("jfr", Set.of()),
          Map.entry("os", Set.of()),
          Map.entry("pool", Set.of("pool.internal", "provider", "os", "concurrent", "status")),
          Map.entry(
              "pool.internal", Set.of("pool", "provider", "os", "concurrent", "jfr", "status")),
          Map.entry("provider", Set.of("status")),
          Map.entry("provider.shm", Set.of("provider", "os", "concurrent", "status")),
          Map.entry("provider.tcp", Set.of("provider", "os", "concurrent", "status")),
          Map.entry(
              "provider.verbs", Set.of("provider", "verbs", "os", "concurrent", "jfr", "status")),
          Map.entry("status", Set.of("concurrent", "jfr")),
          // The one place that puts providers together; its internals see the interfaces alone.
          Map.entry(
              "transport",
              Set.of(
                  "transport.internal",
                  "provider",
                  "provider.shm",
                  "provider.tcp",
                  "provider.verbs",
                  "verbs",
                  "pool",
                  "os",
                  "concurrent",
                  "diagnosis",
                  "status")),
          Map.entry(
              "transport.internal",
              Set.of("transport", "provider", "pool", "concurrent", "status")),
          Map.entry("verbs", Set.of("verbs.ffi", "os")),
          Map.entry("verbs.ffi", Set.of("verbs", "os")));

  private static final Set<String> MAY_LINK_NATIVES = Set.of("io.rdma4j.os", "io.rdma4j.verbs.ffi");

  private static final JavaClasses CORE = importCore();

  /** Core is a folder before Maven has packaged it, a jar afterwards. */
  private static JavaClasses importCore() {
    Path path = corePath();
    if (Files.isDirectory(path)) {
      return new ClassFileImporter().importPath(path);
    }
    try (JarFile jar = new JarFile(path.toFile())) {
      return new ClassFileImporter().importJar(jar);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Path corePath() {
    return pathOf(Availability.class);
  }

  private static Path pathOf(Class<?> type) {
    try {
      return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException e) {
      throw new AssertionError("class " + type + " was loaded from no path", e);
    }
  }

  private static String shortName(String packageName) {
    return packageName.equals(ROOT) ? "" : packageName.substring(ROOT.length() + 1);
  }

  private static boolean mayUse(String from, String to) {
    return to.isEmpty() || from.equals(to) || MAY_USE.getOrDefault(from, Set.of()).contains(to);
  }

  @Test
  void packagesUseOnlyWhatTheyMay() {
    Set<String> violations = new TreeSet<>();
    for (JavaClass type : CORE) {
      for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
        String target = dependency.getTargetClass().getBaseComponentType().getPackageName();
        if (target.startsWith(ROOT)
            && !mayUse(shortName(type.getPackageName()), shortName(target))) {
          violations.add(type.getName() + " uses " + dependency.getTargetClass().getName());
        }
      }
    }
    assertEquals(Set.of(), violations);
  }

  @Test
  void everyPackageHasItsPlace() {
    Set<String> found =
        CORE.stream()
            .map(JavaClass::getPackageName)
            .filter(name -> !name.isEmpty())
            .map(ArchitectureTest::shortName)
            .collect(Collectors.toCollection(TreeSet::new));
    assertTrue(found.contains("verbs"), "core's classes were not read: " + found);
    found.removeAll(MAY_USE.keySet());
    assertEquals(Set.of(), found, "packages without a row in MAY_USE");
  }

  @Test
  void nativesAreLinkedInTwoPackagesOnly() {
    Set<String> linking = packagesWithRestrictedMethods(corePath());
    linking.removeAll(MAY_LINK_NATIVES);
    assertEquals(Set.of(), linking);
  }

  @Test
  void theScanSeesRestrictedMethods() {
    Set<String> linking = packagesWithRestrictedMethods(pathOf(ArchitectureTest.class));
    assertTrue(linking.contains("io.rdma4j.testkit"), "jnativescan missed " + Reinterprets.class);
  }

  @Test
  void coreNeedsNothingButTheJdk() {
    ModuleDescriptor core =
        ModuleFinder.of(corePath()).find("io.rdma4j.core").orElseThrow().descriptor();
    Set<String> atRunTime =
        core.requires().stream()
            .filter(r -> !r.modifiers().contains(ModuleDescriptor.Requires.Modifier.STATIC))
            .map(ModuleDescriptor.Requires::name)
            .collect(Collectors.toSet());
    assertEquals(Set.of("java.base", "jdk.jfr"), atRunTime);
    assertFalse(core.isOpen());
  }

  /** Runs jnativescan, which prints the class of each restricted call on a line of its own. */
  private static Set<String> packagesWithRestrictedMethods(Path classes) {
    ToolProvider scan = ToolProvider.findFirst("jnativescan").orElseThrow();
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    int status =
        scan.run(new PrintWriter(out), new PrintWriter(err), "--class-path", classes.toString());
    assertEquals(0, status, () -> "jnativescan: " + err);
    Pattern method = Pattern.compile("(io\\.rdma4j[\\w.]*)\\.[A-Z][\\w$]*::");
    return method
        .matcher(out.toString())
        .results()
        .map(match -> match.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** Bait for the scan: a test that finds nothing proves nothing unless it can find this. */
  private static final class Reinterprets {
    private Reinterprets() {}

    @SuppressWarnings({"restricted", "UnusedMethod"})
    static MemorySegment resize(MemorySegment segment) {
      return segment.reinterpret(8);
    }
  }
}
