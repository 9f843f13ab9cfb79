package io.rdma4j.host;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The folder below which {@code /sys}, {@code /proc}, {@code /dev} and {@code /etc} are read: the
 * running machine, or a tree copied from another one.
 *
 * <p>Symbolic links are followed as if the folder were the root of the file system: an absolute
 * link starts again at the folder and {@code ..} stops there, so a copied tree can never answer
 * with files of the machine that reads it. Only regular files are opened; a copied device node
 * would otherwise open the device of this machine, and a copied pipe would block.
 *
 * <p>Immutable and safe for use by several threads; every call reads anew.
 */
final class HostTree {
  /** Links in one path before it counts as a loop; the kernel's own bound. */
  private static final int MAX_LINKS = 40;

  /** More than any file of these trees holds; guards against a mistaken huge file. */
  private static final int MAX_FILE_BYTES = 1 << 20;

  /** What a file of sysfs holds at most; most have a few bytes. */
  private static final int PAGE_BYTES = 4096;

  private final Path base;

  private HostTree(Path base) {
    this.base = base;
  }

  /**
   * Returns the root at {@code base}.
   *
   * @throws IOException when {@code base} does not exist or is not a directory
   */
  static HostTree at(Path base) throws IOException {
    Path real = base.toRealPath();
    if (!Files.isDirectory(real)) {
      throw new NotDirectoryException(base.toString());
    }
    return new HostTree(real);
  }

  /** Whether this is the file system of the running machine and not a copied tree. */
  boolean isLive() {
    return base.equals(base.getRoot());
  }

  /**
   * Returns the text of a file without surrounding white space, or null when there is no such file.
   *
   * @param path absolute path as on the machine described, for example {@code
   *     /sys/class/infiniband}
   * @throws IOException when the file is there but cannot be read
   */
  @Nullable String read(String path) throws IOException {
    Path file = locate(path);
    return file == null ? null : text(file, attributes(file), path);
  }

  private static String text(Path file, BasicFileAttributes found, String path) throws IOException {
    if (!found.isRegularFile()) {
      throw new FileSystemException(path, null, "not a regular file");
    }
    try (SeekableByteChannel channel = Files.newByteChannel(file)) {
      ByteBuffer bytes = ByteBuffer.allocate(PAGE_BYTES);
      while (channel.read(bytes) >= 0) {
        if (bytes.position() > MAX_FILE_BYTES) {
          throw new FileSystemException(path, null, "larger than " + MAX_FILE_BYTES + " bytes");
        }
        if (!bytes.hasRemaining()) {
          bytes = ByteBuffer.allocate(2 * bytes.capacity()).put(bytes.flip());
        }
      }
      return new String(bytes.array(), 0, bytes.position(), StandardCharsets.UTF_8).strip();
    }
  }

  /**
   * Returns a directory whose files are about to be read, so that the way to it is walked once;
   * null when there is no such directory.
   *
   * @throws IOException when a directory on the way may not be searched, or links form a loop
   */
  @Nullable Folder folder(String path) throws IOException {
    Path directory = locate(path);
    return directory == null ? null : new Folder(directory, path);
  }

  /** A directory that was there when it was looked for. */
  final class Folder {
    private final Path directory;
    private final String path;

    private Folder(Path directory, String path) {
      this.directory = directory;
      this.path = path;
    }

    /** Returns the names in it, as {@link HostTree#list} does. */
    List<String> names() throws IOException {
      return sortedNames(directory);
    }

    /** Returns the text of one of its files, as {@link HostTree#read} does. */
    @Nullable String read(String name) throws IOException {
      String filePath = path + "/" + name;
      Path file = directory.resolve(name);
      BasicFileAttributes found = attributesIfThere(directory, file);
      if (found == null) {
        return null;
      }
      return found.isSymbolicLink() ? HostTree.this.read(filePath) : text(file, found, filePath);
    }
  }

  /**
   * Returns the names in a directory, {@code mlx5_2} before {@code mlx5_10}, or null when there is
   * no such directory.
   *
   * @throws IOException when the directory is there but cannot be listed
   */
  @Nullable List<String> list(String path) throws IOException {
    Path directory = locate(path);
    return directory == null ? null : sortedNames(directory);
  }

  private static List<String> sortedNames(Path directory) throws IOException {
    Map<String, String> names = new TreeMap<>();
    try (var entries = Files.newDirectoryStream(directory)) {
      for (Path entry : entries) {
        String name = String.valueOf(entry.getFileName());
        names.put(naturalKey(name) + '/' + name, name);
      }
    }
    return new ArrayList<>(names.values());
  }

  /**
   * Returns where {@code path} leads once every link is followed, as a path inside this root, or
   * null when it leads nowhere. The path returned is absolute on the machine described.
   *
   * @throws IOException when a directory on the way may not be searched, or links form a loop
   */
  @Nullable String resolve(String path) throws IOException {
    Path found = locate(path);
    return found == null ? null : "/" + base.relativize(found);
  }

  private @Nullable Path locate(String path) throws IOException {
    Deque<String> todo = new ArrayDeque<>();
    push(todo, Path.of(path));
    Path at = base;
    int links = 0;
    while (!todo.isEmpty()) {
      String name = todo.pop();
      if (name.equals("..")) {
        at = parentInside(at);
        continue;
      }
      Path next = at.resolve(name);
      BasicFileAttributes found = attributesIfThere(at, next);
      if (found == null) {
        return null;
      }
      if (!found.isSymbolicLink()) {
        at = next;
        continue;
      }
      if (++links > MAX_LINKS) {
        throw new FileSystemLoopException(path);
      }
      Path target = Files.readSymbolicLink(next);
      if (target.isAbsolute()) {
        at = base;
      }
      push(todo, target);
    }
    return at;
  }

  /** Pads runs of digits, so that comparing the keys compares numbers by their value. */
  private static String naturalKey(String name) {
    StringBuilder key = new StringBuilder();
    for (int at = 0, end; at < name.length(); at = end) {
      end = at + 1;
      if (isDigit(name, at)) {
        while (end < name.length() && isDigit(name, end)) {
          end++;
        }
        key.repeat('0', Math.max(0, 20 - (end - at)));
      }
      key.append(name, at, end);
    }
    return key.toString();
  }

  private static boolean isDigit(String name, int at) {
    return name.charAt(at) >= '0' && name.charAt(at) <= '9';
  }

  private static void push(Deque<String> todo, Path path) {
    for (int i = path.getNameCount() - 1; i >= 0; i--) {
      String name = path.getName(i).toString();
      if (!name.isEmpty() && !name.equals(".")) {
        todo.push(name);
      }
    }
  }

  private Path parentInside(Path at) {
    Path parent = at.getParent();
    return at.equals(base) || parent == null ? base : parent;
  }

  private static @Nullable BasicFileAttributes attributesIfThere(Path parent, Path path)
      throws IOException {
    try {
      return attributes(path);
    } catch (NoSuchFileException absent) {
      return null;
    } catch (FileSystemException e) {
      // ENOTDIR has no exception type of its own: a file where a directory was expected.
      if (!Files.isDirectory(parent)) {
        return null;
      }
      throw e;
    }
  }

  private static BasicFileAttributes attributes(Path path) throws IOException {
    return Files.readAttributes(path, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
  }

  @Override
  public String toString() {
    return base.toString();
  }
}
