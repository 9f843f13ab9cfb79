package io.rdma4j.os;

import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class SharedFileTest {
  @TempDir private Path directory = Path.of("");

  @Test
  void anonymousFileIsSharedSealedAndOutlivesItsDescriptor() throws IOException {
    long pid = ProcessHandle.current().pid();
    SharedFile file = SharedFile.anonymous("rdma4j-test", 8192);
    SharedFile peer = SharedFile.openAnonymous(pid, file.fd(), "rdma4j-test");
    assertEquals(8192, peer.lengthBytes());
    try (Mapping here = file.map();
        Mapping there = peer.map()) {
      try (FileChannel channel =
          FileChannel.open(Path.of("/proc/self/fd/" + file.fd()), StandardOpenOption.WRITE)) {
        assertThrows(IOException.class, () -> channel.truncate(0), "sealed against shrinking");
      }
      int fd = file.fd();
      file.close();
      file.close();
      peer.close();
      here.segment().set(JAVA_LONG, 4096, 42);
      assertEquals(42, there.segment().get(JAVA_LONG, 4096));
      assertThrows(IOException.class, file::map);
      assertThrows(IOException.class, () -> SharedFile.openAnonymous(pid, fd, "rdma4j-test"));
    }
  }

  @Test
  void openAnonymousRefusesOtherFiles() throws IOException {
    long pid = ProcessHandle.current().pid();
    try (MemoryFile unsealed = MemoryFile.create("rdma4j-test", 4096)) {
      var e =
          assertThrows(
              IOException.class,
              () -> SharedFile.openAnonymous(pid, unsealed.descriptor(), "rdma4j-test"));
      assertTrue(String.valueOf(e.getMessage()).contains("may shrink"), e::toString);
      assertThrows(
          IOException.class,
          () -> SharedFile.openAnonymous(pid, unsealed.descriptor(), "rdma4j-other"));
    }
  }

  @Test
  void namedFileIsPrivateAndMadeOnce() throws IOException {
    Path path = directory.resolve("a.ring");
    try (SharedFile file = SharedFile.create(path, 12_288)) {
      assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
      assertThrows(IOException.class, () -> SharedFile.create(path, 4096));
      assertTrue(Files.exists(path), "the file of the first maker stays");
      try (SharedFile peer = SharedFile.open(path)) {
        assertEquals(file.lengthBytes(), peer.lengthBytes());
      }
      Path link = Files.createSymbolicLink(directory.resolve("b.ring"), path);
      assertThrows(IOException.class, () -> SharedFile.open(link));
    }
    assertThrows(IOException.class, () -> SharedFile.open(directory.resolve("none")));
  }

  @Test
  void leavesNoFileWhenThereIsNoSpace() throws IOException {
    Path path = directory.resolve("huge.ring");
    var e = assertThrows(IOException.class, () -> SharedFile.create(path, 1L << 60));
    String reason = String.valueOf(e.getMessage());
    assertTrue(reason.contains(path.toString()) && reason.contains("bytes are free"), reason);
    assertFalse(Files.exists(path));
  }
}
