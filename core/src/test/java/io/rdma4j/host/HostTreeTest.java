package io.rdma4j.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.FileSystemLoopException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reading a tree without ever leaving it. */
final class HostTreeTest {
  @TempDir Path temporary;
  private Path root = Path.of("");

  @BeforeEach
  void fill() throws IOException {
    root = Files.createDirectories(temporary.resolve("root"));
    Files.writeString(temporary.resolve("secret"), "outside");
    Files.createDirectories(root.resolve("sys/a"));
    Files.writeString(root.resolve("sys/a/value"), "  7 \n");
  }

  private void link(String path, String target) throws IOException {
    Files.createSymbolicLink(root.resolve(path), Path.of(target));
  }

  private HostTree tree() throws IOException {
    return HostTree.at(root);
  }

  @Test
  void readsAndStrips() throws IOException {
    assertEquals("7", tree().read("/sys/a/value"));
    assertNull(tree().read("/sys/a/other"));
    assertNull(tree().read("/sys/a/value/below"));
  }

  @Test
  void followsLinksInside() throws IOException {
    link("sys/relative", "a");
    link("sys/absolute", "/sys/a");
    link("sys/climbs", "../../../../sys/a/../a");
    for (String name : List.of("relative", "absolute", "climbs")) {
      assertEquals("7", tree().read("/sys/" + name + "/value"), name);
      assertEquals("/sys/a/value", tree().resolve("/sys/" + name + "/value"), name);
    }
  }

  @Test
  void neverLeavesTheRoot() throws IOException {
    link("sys/up", "../../secret");
    link("sys/away", temporary.resolve("secret").toString());
    assertNull(tree().read("/sys/up"));
    assertNull(tree().read("/sys/away"));
    assertNull(tree().read("/../secret"));
    assertNull(tree().resolve("/sys/away"));
  }

  @Test
  void linksInALoopAreAnError() throws IOException {
    link("sys/x", "y");
    link("sys/y", "x");
    assertThrows(FileSystemLoopException.class, () -> tree().read("/sys/x"));
  }

  @Test
  void onlyRegularFilesAreOpened() throws IOException {
    FileSystemException refused =
        assertThrows(FileSystemException.class, () -> tree().read("/sys/a"));
    assertEquals("not a regular file", refused.getReason());
  }

  @Test
  void filesBeyondTheBoundAreRefused() throws IOException {
    Files.write(root.resolve("sys/a/huge"), new byte[(1 << 20) + 1]);
    assertThrows(FileSystemException.class, () -> tree().read("/sys/a/huge"));
    Files.write(
        root.resolve("sys/a/full"), "x".repeat(1 << 20).getBytes(StandardCharsets.US_ASCII));
    assertEquals(1 << 20, String.valueOf(tree().read("/sys/a/full")).length());
  }

  @Test
  void listsNumbersByTheirValue() throws IOException {
    for (String name : List.of("mlx5_10", "mlx5_2", "mlx5_0", "irdma1")) {
      Files.createDirectories(root.resolve("class/" + name));
    }
    assertEquals(List.of("irdma1", "mlx5_0", "mlx5_2", "mlx5_10"), tree().list("/class"));
    assertNull(tree().list("/missing"));
  }

  @Test
  void onlyTheRootOfTheFileSystemIsLive() throws IOException {
    assertFalse(tree().isLive());
    assertTrue(HostTree.at(Path.of("/")).isLive());
  }

  @Test
  void theRootMustBeADirectory() {
    assertThrows(NoSuchFileException.class, () -> HostTree.at(root.resolve("missing")));
    assertThrows(NotDirectoryException.class, () -> HostTree.at(root.resolve("sys/a/value")));
  }
}
