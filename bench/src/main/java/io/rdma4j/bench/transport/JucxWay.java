package io.rdma4j.bench.transport;

import io.rdma4j.Availability;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import org.openucx.jucx.UcxException;
import org.openucx.jucx.ucp.UcpContext;
import org.openucx.jucx.ucp.UcpParams;

/**
 * UCX over shared memory through its Java binding, tagged messages. The two workers learn each
 * other's address over a socket.
 */
record JucxWay() implements Way {
  @Override
  public String name() {
    return "jucx";
  }

  @Override
  public String description() {
    return "JUCX, tagged messages over UCX's posix shared memory";
  }

  /** One message under way only: with several, the receives of version 1.12.1 get mixed up. */
  @Override
  public boolean carriesStreams() {
    return false;
  }

  @Override
  public Availability availability() {
    try {
      context().close();
      return Availability.usable("JUCX over posix shared memory");
    } catch (UcxException | LinkageError | UncheckedIOException e) {
      return Availability.unusable(
          "JUCX does not load; on Debian, install libucx0: "
              + e.toString().lines().findFirst().orElse(""));
    }
  }

  static UcpContext context() {
    return new UcpContext(new UcpParams().requestTagFeature().setConfig("TLS", "posix,self"));
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
        try (SocketChannel socket = listener.accept()) {
          listener.close();
          return new JucxLink(socket);
        }
      }

      @Override
      public void close() throws IOException {
        listener.close();
      }
    };
  }

  @Override
  public Link connect(String address) throws IOException {
    try (SocketChannel socket =
        SocketChannel.open(
            new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(address)))) {
      return new JucxLink(socket);
    }
  }
}
