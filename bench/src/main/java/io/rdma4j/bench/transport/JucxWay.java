package io.rdma4j.bench.transport;

import io.rdma4j.Availability;
import java.io.IOException;
import java.io.UncheckedIOException;
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
    return new LoopbackAcceptor(JucxWay::link);
  }

  @Override
  public Link connect(String address) throws IOException {
    return link(LoopbackAcceptor.connect(address));
  }

  /** The socket has done its work once the workers know each other. */
  private static Link link(SocketChannel socket) throws IOException {
    try (socket) {
      return new JucxLink(socket);
    }
  }
}
