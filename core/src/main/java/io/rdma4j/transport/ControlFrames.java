package io.rdma4j.transport;

import io.rdma4j.transport.internal.BootstrapChannel;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Puts the frames of a control socket together from what each read brings: heartbeats, which say
 * nothing, and at most one digest, which is kept. {@link BootstrapChannel} draws a frame.
 *
 * <p>Conductor only.
 */
final class ControlFrames {
  private static final int HEADER_BYTES = 3;
  private static final int LENGTH_BYTES = 2;

  private final ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES);
  private @Nullable ByteBuffer payload;
  private byte @Nullable [] digest;
  private boolean told;

  /** Takes the bytes of a read. */
  void take(ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      ByteBuffer into = payload == null ? header : payload;
      int length = Math.min(into.remaining(), bytes.remaining());
      into.put(bytes.slice(bytes.position(), length));
      bytes.position(bytes.position() + length);
      if (!into.hasRemaining()) {
        endPart(into);
      }
    }
  }

  private void endPart(ByteBuffer full) throws IOException {
    if (payload == null) {
      int length = Short.toUnsignedInt(header.getShort(0));
      if (length > BootstrapChannel.MAX_PAYLOAD_BYTES) {
        throw new BootstrapChannel.ProtocolException(
            "control frame of " + length + " bytes, limit " + BootstrapChannel.MAX_PAYLOAD_BYTES);
      }
      if (length > 0) {
        payload = ByteBuffer.allocate(length);
        return;
      }
    }
    // What other kinds of frames a later version may send says nothing to this one.
    if (BootstrapChannel.isDigest(header.get(LENGTH_BYTES)) && !told) {
      byte[] facts = new byte[payload == null ? 0 : full.capacity()];
      full.get(0, facts);
      digest = facts;
      told = true;
    }
    payload = null;
    header.clear();
  }

  byte @Nullable [] takeDigest() {
    byte[] taken = digest;
    digest = null;
    return taken;
  }

  boolean hasTold() {
    return told;
  }
}
