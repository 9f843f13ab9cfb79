package io.rdma4j.provider.shm;

import io.rdma4j.os.ProcessIdentity;
import io.rdma4j.os.SharedFile;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A directory for ring files that have a name: {@code rdma4j-PID-STARTTICKS-N.ring}.
 *
 * <p>Safe for use by several threads. A file has its name only from when it is made until the peer
 * has mapped it; one that a killed process has left behind is removed by the next provider that
 * starts here.
 */
final class ShmDirectory {
  /**
   * Files younger than this stay, whoever made them: a process of another pid namespace that shares
   * the directory looks dead from here, but its handshake is over by then.
   */
  static final Duration LEFTOVER_AGE = Duration.ofMinutes(1);

  private static final System.Logger LOG = System.getLogger("io.rdma4j.provider.shm");
  private static final Pattern NAME = Pattern.compile("rdma4j-(\\d{1,10})-(\\d{1,18})-\\d+\\.ring");
  private static final AtomicLong NEXT = new AtomicLong();

  private final Path path;

  ShmDirectory(Path path) {
    this.path = path.toAbsolutePath();
  }

  Path path() {
    return path;
  }

  /** Returns a path in this directory that no other ring file has. */
  Path newName(ProcessIdentity owner) {
    return path.resolve(
        "rdma4j-"
            + owner.pid()
            + "-"
            + owner.startTicks()
            + "-"
            + NEXT.getAndIncrement()
            + ".ring");
  }

  /** Opens a peer's file, refusing any path that is not that of a ring file. */
  static SharedFile open(String peerPath) throws IOException {
    Path file;
    try {
      file = Path.of(peerPath);
    } catch (InvalidPathException e) {
      throw new IOException("the peer names a ring file that cannot exist", e);
    }
    Path name = file.getFileName();
    if (!file.isAbsolute() || name == null || !NAME.matcher(name.toString()).matches()) {
      throw new IOException("not the absolute path of a ring file: " + peerPath);
    }
    return SharedFile.open(file);
  }

  /**
   * Removes files of processes that have ended.
   *
   * @return how many were removed
   */
  int removeLeftovers(Instant now) throws IOException {
    int removed = 0;
    try (DirectoryStream<Path> files = Files.newDirectoryStream(path, "rdma4j-*.ring")) {
      for (Path file : files) {
        if (isLeftover(file, now) && Files.deleteIfExists(file)) {
          LOG.log(Level.INFO, "removed {0}, left behind by a process that has ended", file);
          removed++;
        }
      }
    }
    return removed;
  }

  private static boolean isLeftover(Path file, Instant now) throws IOException {
    Matcher name = NAME.matcher(String.valueOf(file.getFileName()));
    if (!name.matches() || !Files.isRegularFile(file)) {
      return false;
    }
    ProcessIdentity owner =
        new ProcessIdentity(Long.parseLong(name.group(1)), Long.parseLong(name.group(2)));
    Instant modified = Files.getLastModifiedTime(file).toInstant();
    return modified.plus(LEFTOVER_AGE).isBefore(now) && !owner.isAlive();
  }
}
