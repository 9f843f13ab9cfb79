package io.rdma4j.host;

import io.rdma4j.host.HostReport.Unreadable;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Reads one root and keeps what could not be read, so that one broken attribute costs its own value
 * and not the report. Confined to the thread that reads a report.
 */
final class Probe {
  private final HostTree tree;
  private final List<Unreadable> unreadable = new ArrayList<>();

  Probe(HostTree tree) {
    this.tree = tree;
  }

  boolean isLive() {
    return tree.isLive();
  }

  List<Unreadable> unreadable() {
    return unreadable;
  }

  /** Text of a file; null when absent, unreadable or empty. */
  @Nullable String text(String path) {
    try {
      return emptyToNull(tree.read(path));
    } catch (IOException e) {
      report(path, describe(e));
      return null;
    }
  }

  /**
   * Text of an attribute whose read fails in ordinary operation; a failure counts as absence. The
   * kernel answers EINVAL for the type and the network device of an empty GID slot.
   */
  @Nullable String optionalText(String path) {
    try {
      return emptyToNull(tree.read(path));
    } catch (IOException expected) {
      return null;
    }
  }

  /** A decimal number; null when absent, unreadable or no number. */
  @Nullable Long number(String path) {
    String text = text(path);
    return text == null ? null : parse(path, text);
  }

  @Nullable Long parse(String path, String text) {
    try {
      return Long.valueOf(text);
    } catch (NumberFormatException e) {
      report(path, "not a number: '" + text + "'");
      return null;
    }
  }

  /** Sorted names in a directory; null when absent or unreadable. */
  @Nullable List<String> names(String path) {
    try {
      return tree.list(path);
    } catch (IOException e) {
      report(path, describe(e));
      return null;
    }
  }

  /** Gives each file of a directory that has a text, by name and in the order of names. */
  void forEachText(String path, BiConsumer<String, String> files) {
    try {
      HostTree.Folder folder = tree.folder(path);
      if (folder == null) {
        return;
      }
      for (String name : folder.names()) {
        String text = text(folder, path, name);
        if (text != null) {
          files.accept(name, text);
        }
      }
    } catch (IOException e) {
      report(path, describe(e));
    }
  }

  private @Nullable String text(HostTree.Folder folder, String path, String name) {
    try {
      return emptyToNull(folder.read(name));
    } catch (IOException e) {
      report(path + "/" + name, describe(e));
      return null;
    }
  }

  /** Names in a directory that are numbers, in their order; empty when absent or unreadable. */
  List<Integer> numbers(String path) {
    List<String> names = names(path);
    return names == null
        ? List.of()
        : names.stream()
            .filter(name -> name.matches("\\d{1,9}"))
            .map(Integer::valueOf)
            .sorted()
            .toList();
  }

  /** Where a path leads, links followed inside the root; null when it leads nowhere. */
  @Nullable String resolve(String path) {
    try {
      return tree.resolve(path);
    } catch (IOException e) {
      report(path, describe(e));
      return null;
    }
  }

  void report(String path, String problem) {
    unreadable.add(new Unreadable(path, problem));
  }

  static String describe(IOException e) {
    String reason = e instanceof FileSystemException f ? f.getReason() : e.getMessage();
    return e.getClass().getSimpleName() + (reason == null ? "" : ": " + reason);
  }

  private static @Nullable String emptyToNull(@Nullable String text) {
    return text == null || text.isEmpty() ? null : text;
  }
}
