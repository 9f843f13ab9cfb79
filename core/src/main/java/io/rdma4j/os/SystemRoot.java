package io.rdma4j.os;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The directory below which {@code /sys}, {@code /proc} and {@code /dev} are found: {@code /} on a
 * live system, a recorded tree when a machine is examined from elsewhere.
 *
 * <p>Reading answers what is there. An attribute that is missing, unreadable (sysfs answers EINVAL
 * for empty slots, EACCES inside containers) or a directory is absent, never an exception; {@link
 * #exists} tells missing from unreadable.
 *
 * <p>Immutable; safe for use by several threads. Symbolic links are followed; those of sysfs are
 * relative and so stay below the root.
 */
public final class SystemRoot {
  private static final SystemRoot HOST = new SystemRoot(Path.of("/"));

  private final Path root;

  private SystemRoot(Path root) {
    this.root = root;
  }

  /** Returns the root of the machine this process runs on. */
  public static SystemRoot host() {
    return HOST;
  }

  /**
   * Returns a root at {@code directory}, which then holds {@code sys}, {@code proc}, {@code dev}.
   */
  public static SystemRoot at(Path directory) {
    return new SystemRoot(directory.toAbsolutePath().normalize());
  }

  /** Returns true for the machine this process runs on, false for a recorded tree. */
  public boolean isHost() {
    return this == HOST;
  }

  /**
   * Returns the file that stands for an absolute path.
   *
   * @param path for example {@code /sys/class/infiniband}
   * @throws IllegalArgumentException when the path is relative or climbs out of the root
   */
  public Path resolve(String path) {
    if (!path.startsWith("/")) {
      throw new IllegalArgumentException("path must be absolute, was: " + path);
    }
    Path resolved = root.resolve(path.substring(1)).normalize();
    if (!resolved.startsWith(root)) {
      throw new IllegalArgumentException("path " + path + " leaves the root " + root);
    }
    return resolved;
  }

  /** Returns true when something is at {@code path}, readable or not. */
  public boolean exists(String path) {
    return Files.exists(resolve(path));
  }

  /** Returns true when {@code path} is a directory or a link to one. */
  public boolean isDirectory(String path) {
    return Files.isDirectory(resolve(path));
  }

  /** Returns the text of an attribute without leading and trailing white space, if readable. */
  public Optional<String> read(String path) {
    try {
      byte[] bytes = Files.readAllBytes(resolve(path));
      return Optional.of(new String(bytes, StandardCharsets.UTF_8).strip());
    } catch (IOException absent) {
      return Optional.empty();
    }
  }

  /** Returns the lines of a file without their ends, none when it is unreadable. */
  public List<String> readLines(String path) {
    return read(path).map(text -> text.lines().toList()).orElse(List.of());
  }

  /**
   * Returns the value of a decimal attribute. An attribute that holds anything else, such as {@code
   * N/A (no PMA)}, is absent.
   */
  public OptionalLong readLong(String path) {
    Optional<String> text = read(path);
    if (text.isEmpty()) {
      return OptionalLong.empty();
    }
    try {
      return OptionalLong.of(Long.parseLong(text.get()));
    } catch (NumberFormatException notANumber) {
      return OptionalLong.empty();
    }
  }

  /**
   * Returns the names in a directory in their natural order, so that {@code mlx5_2} comes before
   * {@code mlx5_10}; none when the directory is missing or unreadable.
   */
  public List<String> list(String path) {
    List<String> names = new ArrayList<>();
    try (DirectoryStream<Path> entries = Files.newDirectoryStream(resolve(path))) {
      for (Path entry : entries) {
        names.add(String.valueOf(entry.getFileName()));
      }
    } catch (IOException | DirectoryIteratorException absent) {
      return List.of();
    }
    names.sort(SystemRoot::compareNaturally);
    return Collections.unmodifiableList(names);
  }

  /**
   * Returns the last element of a symbolic link's target, which is how sysfs names a device's
   * driver, bus address or network interface.
   */
  public Optional<String> linkName(String path) {
    try {
      Path target = Files.readSymbolicLink(resolve(path)).getFileName();
      return Optional.ofNullable(target).map(Path::toString);
    } catch (IOException | UnsupportedOperationException absent) {
      return Optional.empty();
    }
  }

  /** Compares runs of digits by value and everything else by character. */
  static int compareNaturally(String a, String b) {
    int i = 0;
    int j = 0;
    while (i < a.length() && j < b.length()) {
      if (isDigit(a.charAt(i)) && isDigit(b.charAt(j))) {
        int endA = endOfDigits(a, i);
        int endB = endOfDigits(b, j);
        int order = compareDigits(a.substring(i, endA), b.substring(j, endB));
        if (order != 0) {
          return order;
        }
        i = endA;
        j = endB;
      } else {
        int order = Character.compare(a.charAt(i++), b.charAt(j++));
        if (order != 0) {
          return order;
        }
      }
    }
    int order = Integer.compare(a.length() - i, b.length() - j);
    return order != 0 ? order : a.compareTo(b);
  }

  private static int compareDigits(String a, String b) {
    String x = a.replaceFirst("^0+(?=.)", "");
    String y = b.replaceFirst("^0+(?=.)", "");
    int order = Integer.compare(x.length(), y.length());
    return order != 0 ? order : x.compareTo(y);
  }

  private static int endOfDigits(String text, int start) {
    int end = start;
    while (end < text.length() && isDigit(text.charAt(end))) {
      end++;
    }
    return end;
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  @Override
  public String toString() {
    return root.toString();
  }
}
