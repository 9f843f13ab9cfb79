package io.rdma4j.tools;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/**
 * A copy of a recorded tree that a test may change.
 *
 * <p>The trees are read from their source folder: copying them as resources would follow the links
 * of sysfs, which form cycles.
 */
final class CaseTree {
  private static final Path CASES = Path.of("src", "test", "cases");

  private final Path root;

  private CaseTree(Path root) {
    this.root = root;
  }

  static Path recorded(String name) {
    Path tree = CASES.resolve(name);
    if (!Files.isDirectory(tree)) {
      throw new AssertionError("no recorded tree " + tree.toAbsolutePath());
    }
    return tree;
  }

  static CaseTree empty(Path root) {
    return new CaseTree(root);
  }

  /** Copies a tree, over what is at {@code root} already. */
  static CaseTree copyOf(String name, Path root) throws IOException {
    Path from = recorded(name);
    Files.walkFileTree(
        from,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult preVisitDirectory(Path dir, BasicFileAttributes attributes)
              throws IOException {
            Files.createDirectories(root.resolve(from.relativize(dir)));
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.copy(
                file,
                root.resolve(from.relativize(file)),
                LinkOption.NOFOLLOW_LINKS,
                StandardCopyOption.REPLACE_EXISTING);
            return FileVisitResult.CONTINUE;
          }
        });
    return new CaseTree(root);
  }

  Path root() {
    return root;
  }

  CaseTree file(String path, String text) throws IOException {
    Path file = root.resolve(path);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text + "\n");
    return this;
  }

  CaseTree directory(String path) throws IOException {
    Files.createDirectories(root.resolve(path));
    return this;
  }

  CaseTree link(String path, String target) throws IOException {
    Path link = root.resolve(path);
    Files.createDirectories(link.getParent());
    Files.createSymbolicLink(link, Path.of(target));
    return this;
  }

  CaseTree without(String path) throws IOException {
    Path start = root.resolve(path);
    Files.walkFileTree(
        start,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.delete(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path dir, @Nullable IOException failure)
              throws IOException {
            if (failure != null) {
              throw failure;
            }
            Files.delete(dir);
            return FileVisitResult.CONTINUE;
          }
        });
    return this;
  }

  /** Puts a directory where a file was: reading it fails, as a broken attribute does. */
  CaseTree unreadable(String path) throws IOException {
    return without(path).directory(path);
  }
}
