package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;

/**
 * What the nodes of a cluster know and nobody else: 16 to 1024 bytes, best random ones.
 *
 * <p>Each end of a connection proves that it knows the secret, over numbers that both choose anew
 * each time, before anything else is set up. The secret itself never travels. It says who may
 * connect; it does not encrypt what is sent afterwards.
 *
 * <p>Immutable.
 */
public final class SharedSecret {
  private static final int MIN_BYTES = 16;
  private static final int MAX_BYTES = 1024;

  private final byte[] bytes;

  private SharedSecret(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Copies a secret.
   *
   * @throws IllegalArgumentException when it has less than 16 or more than 1024 bytes
   */
  public static SharedSecret of(byte[] secret) {
    requireLength(secret.length, "a shared secret");
    return new SharedSecret(secret.clone());
  }

  /**
   * Reads a secret from a file; white space at its end does not count. The file must not be
   * accessible to others than its owner and group.
   *
   * @throws Rdma4jException when the file can not be read, or others may access it
   * @throws IllegalArgumentException when its length is not allowed
   */
  public static SharedSecret read(Path file) {
    byte[] content = null;
    try {
      requirePrivate(file);
      try (InputStream in = Files.newInputStream(file)) {
        // Room for a line feed, and one byte more to see that there is more.
        content = in.readNBytes(MAX_BYTES + 3);
      }
      int end = content.length;
      while (end > 0 && Character.isWhitespace(content[end - 1])) {
        end--;
      }
      requireLength(end, "the secret in " + file);
      return new SharedSecret(Arrays.copyOf(content, end));
    } catch (IOException e) {
      throw new Rdma4jException("the secret in " + file + " can not be read: " + e, e);
    } finally {
      if (content != null) {
        Arrays.fill(content, (byte) 0);
      }
    }
  }

  private static void requirePrivate(Path file) throws IOException {
    Set<PosixFilePermission> open =
        EnumSet.of(PosixFilePermission.OTHERS_READ, PosixFilePermission.OTHERS_WRITE);
    open.retainAll(Files.getPosixFilePermissions(file));
    if (!open.isEmpty()) {
      throw new Rdma4jException(
          "the secret in " + file + " is open to everybody: " + open + "; try chmod 600 on it");
    }
  }

  private static void requireLength(long length, String what) {
    if (length < MIN_BYTES || length > MAX_BYTES) {
      throw new IllegalArgumentException(
          what + " has " + length + " bytes, allowed: " + MIN_BYTES + " to " + MAX_BYTES);
    }
  }

  /** Returns the bytes, not copied, for this package to compute with. */
  byte[] bytes() {
    return bytes;
  }

  /** Tells nothing of the content. */
  @Override
  public String toString() {
    return "SharedSecret[" + bytes.length + " bytes]";
  }
}
