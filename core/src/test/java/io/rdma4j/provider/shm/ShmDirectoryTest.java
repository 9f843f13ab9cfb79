package io.rdma4j.provider.shm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdma4j.os.ProcessIdentity;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.ScriptedHandshake;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
final class ShmDirectoryTest {
  @TempDir private Path directory = Path.of("");

  @Test
  void removesLeftoversOfEndedProcessesOnly() throws Exception {
    Process child = new ProcessBuilder("sleep", "60").start();
    ProcessIdentity dead;
    try {
      dead = identity(child.pid());
    } finally {
      child.destroyForcibly().waitFor();
    }
    ProcessIdentity self = ProcessIdentity.current();
    Instant old = Instant.now().minus(ShmDirectory.LEFTOVER_AGE.multipliedBy(2));
    Path ended = file("rdma4j-" + dead.pid() + "-" + dead.startTicks() + "-0.ring", old);
    Path reused = file("rdma4j-" + self.pid() + "-" + (self.startTicks() - 1) + "-5.ring", old);
    List<Path> kept =
        List.of(
            file("rdma4j-" + self.pid() + "-" + self.startTicks() + "-9.ring", old),
            file("rdma4j-" + dead.pid() + "-" + dead.startTicks() + "-1.ring", Instant.now()),
            file("rdma4j-x-1-1.ring", old),
            file("other.ring", old));
    new ShmProvider(directory).close();
    assertFalse(Files.exists(ended), "owner has ended");
    assertFalse(Files.exists(reused), "a later process with the owner's number");
    for (Path path : kept) {
      assertTrue(Files.exists(path), path::toString);
    }
  }

  private static ProcessIdentity identity(long pid) throws IOException {
    String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
    String startTicks = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1)[19];
    return new ProcessIdentity(pid, Long.parseLong(startTicks));
  }

  private Path file(String name, Instant modified) throws IOException {
    Path path = Files.createFile(directory.resolve(name));
    return Files.setLastModifiedTime(path, FileTime.from(modified));
  }

  @Test
  void tooLittleSpaceIsAReasonAndNoCrash() throws Exception {
    Path small = Files.createDirectory(directory.resolve("small"));
    assumeTrue(
        run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small.toString()) == 0,
        "needs the right to mount a tmpfs (root)");
    try {
      ShmProvider provider = new ShmProvider(small);
      var handshake = new ScriptedHandshake(new byte[16]);
      var config = new EndpointConfig(4096, 16, 1 << 20);
      var e = assertThrows(IOException.class, () -> provider.initiate(handshake, config));
      String reason = String.valueOf(e.getMessage());
      assertTrue(reason.contains(small + "/rdma4j-"), reason);
      assertTrue(reason.contains("cannot reserve " + ShmFile.fileBytes(config)), reason);
      assertTrue(reason.contains((1 << 20) + " bytes are free"), reason);
      assertEquals(List.of(), handshake.sent);
      try (Stream<Path> left = Files.list(small)) {
        assertEquals(List.of(), left.toList());
      }
      var fits = new EndpointConfig(4096, 16, 1 << 16);
      var given = assertThrows(IOException.class, () -> provider.initiate(handshake, fits));
      assertTrue(String.valueOf(given.getMessage()).contains("given up"), "a smaller ring fits");
    } finally {
      assertEquals(0, run("umount", small.toString()));
    }
  }

  private static int run(String... command) throws Exception {
    Process process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertTrue(process.waitFor(20, TimeUnit.SECONDS));
    return process.exitValue();
  }
}
