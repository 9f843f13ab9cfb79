package io.rdma4j.bench.transport;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** Waits for one socket over loopback and makes a link of it. */
final class LoopbackAcceptor implements Way.Acceptor {
  /** Makes a link; the socket is its own from here on. */
  interface Linking {
    Link link(SocketChannel socket) throws IOException;
  }

  private final ServerSocketChannel listener;
  private final int port;
  private final Linking linking;

  LoopbackAcceptor(Linking linking) throws IOException {
    this.linking = linking;
    listener = ServerSocketChannel.open();
    listener.bind(address(0));
    port = listener.socket().getLocalPort();
  }

  private static InetSocketAddress address(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  /** Opens a socket to an acceptor of another process. */
  static SocketChannel connect(String address) throws IOException {
    return SocketChannel.open(address(Integer.parseInt(address)));
  }

  @Override
  public String address() {
    return Integer.toString(port);
  }

  @Override
  public Link accept() throws IOException {
    SocketChannel socket = listener.accept();
    listener.close();
    return linking.link(socket);
  }

  @Override
  public void close() throws IOException {
    listener.close();
  }
}
