package io.rdma4j.bench.transport;

import io.rdma4j.Availability;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/**
 * Java sockets over loopback, without delay: spinning on a non-blocking read, or sleeping in a
 * blocking one.
 */
record SocketWay(String name, boolean blocking) implements Way {
  @Override
  public String description() {
    return "Java sockets over loopback TCP, " + (blocking ? "blocking" : "non-blocking, spinning");
  }

  @Override
  public Availability availability() {
    return Availability.usable("loopback");
  }

  @Override
  public Acceptor listen() throws IOException {
    ServerSocketChannel listener = ServerSocketChannel.open();
    listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    int port = listener.socket().getLocalPort();
    return new Acceptor() {
      @Override
      public String address() {
        return Integer.toString(port);
      }

      @Override
      public Link accept() throws IOException {
        SocketChannel socket = listener.accept();
        listener.close();
        return link(socket);
      }

      @Override
      public void close() throws IOException {
        listener.close();
      }
    };
  }

  @Override
  public Link connect(String address) throws IOException {
    return link(
        SocketChannel.open(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(address))));
  }

  private Link link(SocketChannel socket) throws IOException {
    socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
    socket.configureBlocking(blocking);
    return new SocketLink(socket);
  }
}
