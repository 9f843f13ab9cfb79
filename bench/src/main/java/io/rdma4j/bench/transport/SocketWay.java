package io.rdma4j.bench.transport;

import io.rdma4j.Availability;
import java.io.IOException;
import java.net.StandardSocketOptions;
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
    return new LoopbackAcceptor(this::link);
  }

  @Override
  public Link connect(String address) throws IOException {
    return link(LoopbackAcceptor.connect(address));
  }

  private Link link(SocketChannel socket) throws IOException {
    socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
    socket.configureBlocking(blocking);
    return new SocketLink(socket);
  }
}
