package io.rdma4j.provider.shm;

import io.rdma4j.os.HostIdentity;
import io.rdma4j.os.ProcessIdentity;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/**
 * What two shm providers tell each other over the bootstrap connection; big endian.
 *
 * <pre>
 *  offer, 32 bytes            invitation, 56 bytes + path     answer, 32 bytes
 *   0   4  magic "R4SM"        0   4  magic "R4SM"             0   4  magic "R4SM"
 *   4   2  version             4   2  version                  4   2  version
 *   6   2  1: has a directory  6   2  path length, 0: memfd    6   2  0
 *   8  16  boot id             8   8  pid                      8   8  pid
 *  24   8  pid namespace      16   8  start time, ticks       16   8  start time, ticks
 *                             24   8  pid namespace           24   8  pid namespace
 *                             32   8  ring, bytes
 *                             40   4  largest message, bytes
 *                             44   4  descriptor, -1: path
 *                             48   8  0
 *                             56      path, UTF-8
 * </pre>
 */
final class ShmWire {
  private static final int MAGIC = 0x5234534d;
  private static final short VERSION = 1;
  private static final int OFFER_BYTES = 32;
  private static final int INVITATION_BYTES = 56;
  private static final int ANSWER_BYTES = 32;

  private ShmWire() {}

  /** What the hello message carries. */
  record Offer(boolean hasDirectory, HostIdentity host) {
    byte[] encode() {
      return start(OFFER_BYTES, hasDirectory ? 1 : 0)
          .putLong(host.bootId().getMostSignificantBits())
          .putLong(host.bootId().getLeastSignificantBits())
          .putLong(host.pidNamespace())
          .array();
    }

    static Offer decode(byte[] bytes) throws IOException {
      ByteBuffer in = check("offer", bytes, OFFER_BYTES, OFFER_BYTES);
      boolean hasDirectory = in.getShort() != 0;
      UUID bootId = new UUID(in.getLong(), in.getLong());
      return new Offer(hasDirectory, new HostIdentity(bootId, in.getLong()));
    }
  }

  /** What the initiator has made; {@code path} is empty for an anonymous file. */
  record Invitation(
      ProcessIdentity process,
      long pidNamespace,
      long ringBytes,
      int maxMessageBytes,
      int fd,
      String path) {
    byte[] encode() {
      byte[] pathBytes = path.getBytes(StandardCharsets.UTF_8);
      return start(INVITATION_BYTES + pathBytes.length, pathBytes.length)
          .putLong(process.pid())
          .putLong(process.startTicks())
          .putLong(pidNamespace)
          .putLong(ringBytes)
          .putInt(maxMessageBytes)
          .putInt(fd)
          .putLong(0)
          .put(pathBytes)
          .array();
    }

    static Invitation decode(byte[] bytes) throws IOException {
      ByteBuffer in = check("invitation", bytes, INVITATION_BYTES, Integer.MAX_VALUE);
      int pathBytes = Short.toUnsignedInt(in.getShort());
      if (bytes.length != INVITATION_BYTES + pathBytes) {
        throw new IOException(
            "shm invitation of "
                + bytes.length
                + " bytes announces a path of "
                + pathBytes
                + " bytes");
      }
      ProcessIdentity process = new ProcessIdentity(in.getLong(), in.getLong());
      long pidNamespace = in.getLong();
      long ringBytes = in.getLong();
      int maxMessageBytes = in.getInt();
      int fd = in.getInt();
      String path = new String(bytes, INVITATION_BYTES, pathBytes, StandardCharsets.UTF_8);
      return new Invitation(process, pidNamespace, ringBytes, maxMessageBytes, fd, path);
    }
  }

  /** Says that the acceptor has mapped the file. */
  record Answer(ProcessIdentity process, long pidNamespace) {
    byte[] encode() {
      return start(ANSWER_BYTES, 0)
          .putLong(process.pid())
          .putLong(process.startTicks())
          .putLong(pidNamespace)
          .array();
    }

    static Answer decode(byte[] bytes) throws IOException {
      ByteBuffer in = check("answer", bytes, ANSWER_BYTES, ANSWER_BYTES);
      in.getShort();
      return new Answer(new ProcessIdentity(in.getLong(), in.getLong()), in.getLong());
    }
  }

  private static ByteBuffer start(int lengthBytes, int detail) {
    return ByteBuffer.allocate(lengthBytes)
        .putInt(MAGIC)
        .putShort(VERSION)
        .putShort((short) detail);
  }

  private static ByteBuffer check(String what, byte[] bytes, int least, int most)
      throws IOException {
    if (bytes.length < least || bytes.length > most) {
      throw new IOException("shm " + what + " has " + bytes.length + " bytes, not " + least);
    }
    ByteBuffer in = ByteBuffer.wrap(bytes);
    int magic = in.getInt();
    short version = in.getShort();
    if (magic != MAGIC || version != VERSION) {
      throw new IOException(
          "shm "
              + what
              + " has magic 0x"
              + Integer.toHexString(magic)
              + " and version "
              + version
              + ", this side speaks version "
              + VERSION);
    }
    return in;
  }
}
