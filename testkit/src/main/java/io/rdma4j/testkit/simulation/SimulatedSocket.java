package io.rdma4j.testkit.simulation;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketOption;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.channels.spi.SelectorProvider;
import java.util.Set;

/**
 * One end of a connected pair of sockets in memory. Reading never waits. What is written arrives at
 * once, unless the line is dead; the end of the stream comes after what was written before.
 *
 * <p>One thread at a time.
 */
public final class SimulatedSocket extends SocketChannel {
  private static final int BUFFER_BYTES = 4096;

  private final InetSocketAddress local;
  private final InetSocketAddress remote;
  private final ByteBuffer incoming = ByteBuffer.allocate(BUFFER_BYTES);
  private final Socket adaptor = new Adaptor();
  private SimulatedSocket peer = this;
  private boolean dead;
  private boolean reset;
  private boolean ended;

  private SimulatedSocket(InetSocketAddress local, InetSocketAddress remote) {
    super(SelectorProvider.provider());
    this.local = local;
    this.remote = remote;
  }

  /** Returns two sockets connected to each other. */
  public static SimulatedSocket[] pair(InetSocketAddress first, InetSocketAddress second) {
    var one = new SimulatedSocket(first, second);
    var other = new SimulatedSocket(second, first);
    one.peer = other;
    other.peer = one;
    return new SimulatedSocket[] {one, other};
  }

  /** Lets what both ends write from now on get lost, as behind a cable that was pulled. */
  public void cut() {
    dead = true;
    peer.dead = true;
  }

  /** Ends both streams by a reset. */
  public void reset() {
    reset = true;
    peer.reset = true;
  }

  /** Returns true when a read would not come back empty. */
  public boolean isReadable() {
    return isOpen() && (incoming.position() > 0 || ended || reset);
  }

  @Override
  public int read(ByteBuffer into) throws IOException {
    requireAlive();
    if (incoming.position() == 0) {
      return ended ? -1 : 0;
    }
    incoming.flip();
    int count = Math.min(into.remaining(), incoming.remaining());
    into.put(into.position(), incoming, incoming.position(), count);
    into.position(into.position() + count);
    incoming.position(incoming.position() + count);
    incoming.compact();
    return count;
  }

  @Override
  public int write(ByteBuffer from) throws IOException {
    requireAlive();
    int count = from.remaining();
    if (!dead && peer.isOpen()) {
      count = Math.min(count, peer.incoming.remaining());
      peer.incoming.put(from.slice(from.position(), count));
    }
    from.position(from.position() + count);
    return count;
  }

  private void requireAlive() throws IOException {
    if (!isOpen()) {
      throw new java.nio.channels.ClosedChannelException();
    }
    if (reset) {
      throw new SocketException("Connection reset");
    }
  }

  @Override
  public long read(ByteBuffer[] into, int offset, int length) throws IOException {
    throw new UnsupportedOperationException("scattering reads");
  }

  @Override
  public long write(ByteBuffer[] from, int offset, int length) throws IOException {
    throw new UnsupportedOperationException("gathering writes");
  }

  @Override
  public SocketChannel bind(SocketAddress address) {
    throw new UnsupportedOperationException("a simulated socket is connected from the start");
  }

  @Override
  public boolean connect(SocketAddress address) {
    throw new UnsupportedOperationException("a simulated socket is connected from the start");
  }

  @Override
  public boolean finishConnect() {
    return true;
  }

  @Override
  public boolean isConnected() {
    return true;
  }

  @Override
  public boolean isConnectionPending() {
    return false;
  }

  @Override
  public <T> SocketChannel setOption(SocketOption<T> name, T value) {
    return this;
  }

  @Override
  public <T> T getOption(SocketOption<T> name) {
    throw new UnsupportedOperationException(name.name());
  }

  @Override
  public Set<SocketOption<?>> supportedOptions() {
    return Set.of();
  }

  @Override
  public SocketChannel shutdownInput() {
    throw new UnsupportedOperationException("half-closed sockets");
  }

  @Override
  public SocketChannel shutdownOutput() {
    throw new UnsupportedOperationException("half-closed sockets");
  }

  @Override
  public Socket socket() {
    return adaptor;
  }

  @Override
  public InetSocketAddress getRemoteAddress() {
    return remote;
  }

  @Override
  public InetSocketAddress getLocalAddress() {
    return local;
  }

  @Override
  protected void implCloseSelectableChannel() {
    if (!dead) {
      peer.ended = true;
    }
  }

  @Override
  protected void implConfigureBlocking(boolean block) {}

  /** What the transport asks of the socket behind a channel: its addresses. */
  private final class Adaptor extends Socket {
    @Override
    public SocketAddress getRemoteSocketAddress() {
      return remote;
    }

    @Override
    public SocketAddress getLocalSocketAddress() {
      return local;
    }

    @Override
    public SocketChannel getChannel() {
      return SimulatedSocket.this;
    }
  }
}
