package io.rdma4j.host;

import io.rdma4j.host.LibraryReport.Kind;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.nio.file.PathMatcher;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Looks for libibverbs, librdmacm and the providers where the dynamic loader would look. */
final class LibraryReader {
  private static final List<String> CORE_LIBRARIES = List.of("libibverbs.so.1", "librdmacm.so.1");
  private static final String LOADER_CONFIG = "/etc/ld.so.conf";

  /** Library folders of the usual distributions; a copied tree may come from either processor. */
  private static final List<String> USUAL_FOLDERS =
      List.of(
          "/usr/lib/x86_64-linux-gnu",
          "/lib/x86_64-linux-gnu",
          "/usr/lib/aarch64-linux-gnu",
          "/lib/aarch64-linux-gnu",
          "/usr/lib64",
          "/lib64",
          "/usr/lib",
          "/lib");

  private static final Pattern PROVIDER = Pattern.compile("lib(.+)-(rdmav\\d+)\\.so");
  private static final Pattern VERSION = Pattern.compile("\\.so\\.(\\d+(\\.\\d+)*)$");

  private final Probe probe;

  LibraryReader(Probe probe) {
    this.probe = probe;
  }

  List<LibraryReport> read() {
    List<String> folders = existingFolders();
    List<LibraryReport> libraries = new ArrayList<>();
    for (String name : CORE_LIBRARIES) {
      libraries.add(find(name, folders));
    }
    Set<String> names = new LinkedHashSet<>();
    for (String folder : folders) {
      addProviders(folder + "/libibverbs", names, libraries);
    }
    return libraries;
  }

  private LibraryReport find(String name, List<String> folders) {
    for (String folder : folders) {
      String path = folder + "/" + name;
      String target = probe.resolve(path);
      if (target != null) {
        Matcher version = VERSION.matcher(target);
        String found = version.find() ? version.group(1) : null;
        return new LibraryReport(name, Kind.CORE, true, path, found);
      }
    }
    return new LibraryReport(name, Kind.CORE, folders.isEmpty() ? null : false, null, null);
  }

  private void addProviders(String folder, Set<String> seen, List<LibraryReport> libraries) {
    List<String> names = probe.names(folder);
    if (names == null) {
      return;
    }
    for (String name : names) {
      Matcher provider = PROVIDER.matcher(name);
      String path = folder + "/" + name;
      // A link without its target is a half-removed package: the loader finds nothing either.
      if (provider.matches() && probe.resolve(path) != null && seen.add(name)) {
        libraries.add(
            new LibraryReport(provider.group(1), Kind.PROVIDER, true, path, provider.group(2)));
      }
    }
  }

  private List<String> existingFolders() {
    Set<String> folders = new LinkedHashSet<>();
    String ownPath = probe.isLive() ? System.getenv("LD_LIBRARY_PATH") : null;
    if (ownPath != null) {
      for (String folder : ownPath.split(":", -1)) {
        if (folder.startsWith("/")) {
          folders.add(folder);
        }
      }
    }
    readConfig(LOADER_CONFIG, folders, 0);
    folders.addAll(USUAL_FOLDERS);
    return folders.stream().filter(folder -> probe.resolve(folder) != null).toList();
  }

  /** Follows ld.so.conf(5): a folder a line, {@code include} lines with a pattern, # comments. */
  private void readConfig(String path, Set<String> folders, int depth) {
    String text = depth > 4 ? null : probe.text(path);
    if (text == null) {
      return;
    }
    for (String rawLine : text.lines().toList()) {
      String line = rawLine.replaceFirst("#.*", "").strip();
      if (line.startsWith("include ")) {
        for (String included : matching(line.substring("include ".length()).strip())) {
          readConfig(included, folders, depth + 1);
        }
      } else if (line.startsWith("/")) {
        folders.add(line);
      }
    }
  }

  private List<String> matching(String pattern) {
    String absolute = pattern.startsWith("/") ? pattern : "/etc/" + pattern;
    int slash = absolute.lastIndexOf('/');
    String folder = absolute.substring(0, slash);
    List<String> names = probe.names(folder);
    if (names == null) {
      return List.of();
    }
    PathMatcher matcher =
        FileSystems.getDefault().getPathMatcher("glob:" + absolute.substring(slash + 1));
    return names.stream()
        .filter(name -> matcher.matches(Path.of(name)))
        .map(name -> folder + "/" + name)
        .toList();
  }
}
