package io.rdma4j.bench.transport;

import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import org.jspecify.annotations.Nullable;
import org.openucx.jucx.UcxCallback;
import org.openucx.jucx.UcxException;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpEndpoint;
import org.openucx.jucx.ucp.UcpEndpointParams;
import org.openucx.jucx.ucp.UcpRequest;
import org.openucx.jucx.ucp.UcpWorker;
import org.openucx.jucx.ucp.UcpWorkerParams;

/**
 * A worker and an endpoint. One receive is posted at any time; sends use slots in turn, each free
 * again when its request is through.
 */
final class JucxLink extends Link {
  private static final int SLOTS = 256;
  private static final int MAX_ADDRESS_BYTES = 64 * 1024;
  private static final long TAG = 7;
  private static final long NOTHING = -1;
  private static final UcxCallback NO_CALLBACK = new UcxCallback();

  private final UcpContext context = JucxWay.context();
  private final UcpWorker worker = context.newWorker(new UcpWorkerParams());
  private final UcpEndpoint endpoint;
  private final Arena arena = Arena.ofShared();
  private final MemorySegment out = arena.allocate((long) SLOTS * MAX_MESSAGE_BYTES, LINE_BYTES);
  private final MemorySegment in = arena.allocate(MAX_MESSAGE_BYTES, LINE_BYTES);
  private final @Nullable UcpRequest[] sends = new UcpRequest[SLOTS];
  private int nextSlot;

  /** Length of the message in {@link #in}, or {@link #NOTHING}. */
  private long arrivedBytes = NOTHING;

  private @Nullable IOException failure;
  private final UcxCallback arrival =
      new UcxCallback() {
        @Override
        public void onSuccess(UcpRequest request) {
          arrivedBytes = request.getRecvSize();
        }

        @Override
        public void onError(int status, String message) {
          failure = new IOException("UCX: " + message + ", status " + status);
        }
      };

  JucxLink(SocketChannel socket) throws IOException {
    ByteBuffer mine = worker.getAddress();
    ByteBuffer head = ByteBuffer.allocate(Integer.BYTES).putInt(mine.remaining()).flip();
    socket.write(head);
    socket.write(mine);
    ByteBuffer peer = ByteBuffer.allocateDirect(readLength(socket));
    readFully(socket, peer);
    endpoint = worker.newEndpoint(new UcpEndpointParams().setUcpAddress(peer));
    postReceive();
  }

  private static int readLength(SocketChannel socket) throws IOException {
    ByteBuffer head = ByteBuffer.allocate(Integer.BYTES);
    readFully(socket, head);
    int lengthBytes = head.getInt();
    if (lengthBytes < 1 || lengthBytes > MAX_ADDRESS_BYTES) {
      throw new IOException("a worker address of " + lengthBytes + " bytes");
    }
    return lengthBytes;
  }

  private static void readFully(SocketChannel socket, ByteBuffer to) throws IOException {
    while (to.hasRemaining()) {
      if (socket.read(to) < 0) {
        throw new EOFException("the peer has closed before it told its address");
      }
    }
    to.flip();
  }

  /** May complete before it returns. The request's own state is not to be trusted then. */
  private void postReceive() {
    worker.recvTaggedNonBlocking(in.address(), MAX_MESSAGE_BYTES, TAG, -1L, arrival);
  }

  @Override
  boolean offer(long sequence, long flags, int lengthBytes) throws IOException {
    UcpRequest before = sends[nextSlot];
    if (before != null && !before.isCompleted()) {
      progress();
      return false;
    }
    long at = (long) nextSlot * MAX_MESSAGE_BYTES;
    out.set(JAVA_LONG, at, sequence);
    out.set(JAVA_LONG, at + 8, flags);
    sends[nextSlot] =
        endpoint.sendTaggedNonBlocking(out.address() + at, lengthBytes, TAG, NO_CALLBACK);
    nextSlot = (nextSlot + 1) % SLOTS;
    return true;
  }

  @Override
  void flush() {}

  @Override
  int poll() throws IOException {
    if (arrivedBytes < 0) {
      progress();
    }
    int messages = 0;
    while (arrivedBytes >= 0) {
      int lengthBytes = (int) arrivedBytes;
      arrivedBytes = NOTHING;
      long touch = 0;
      for (int i = LINE_BYTES; i + Long.BYTES <= lengthBytes; i += LINE_BYTES) {
        touch += in.get(JAVA_LONG, i);
      }
      messages++;
      received(in.get(JAVA_LONG, 0), in.get(JAVA_LONG, 8), lengthBytes, touch);
      postReceive();
    }
    if (failure != null) {
      throw failure;
    }
    return messages;
  }

  private void progress() throws IOException {
    try {
      worker.progress();
    } catch (Exception e) {
      throw new IOException("UCX: " + e, e);
    }
  }

  @Override
  public void close() throws IOException {
    try {
      endpoint.close();
      worker.close();
      context.close();
    } catch (UcxException e) {
      throw new IOException("UCX: " + e, e);
    } finally {
      arena.close();
    }
  }

  @Override
  public String toString() {
    return "JUCX";
  }
}
