package io.rdma4j.provider.tcp;

import io.rdma4j.Availability;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.Provider;
import java.io.IOException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ByteChannel;
import java.nio.channels.SocketChannel;
import java.util.List;

/**
 * Messages over the bootstrap connection itself; works everywhere.
 *
 * <p>Each end greets the other and then switches the socket to frames. A greeting, big endian:
 *
 * <pre>
 *   0  4  magic "R4TC"
 *   4  2  version
 *   6  2  0
 *   8  4  largest message, bytes
 * </pre>
 *
 * <p>Safe for use by several threads.
 */
public final class TcpProvider implements Provider {
  private static final int MAGIC = 0x52345443;
  private static final short VERSION = 1;
  private static final int GREETING_BYTES = 12;

  /** Creates the provider; it holds nothing. */
  public TcpProvider() {}

  @Override
  public String name() {
    return "tcp";
  }

  @Override
  public Availability availability() {
    return Availability.usable("messages over the bootstrap connection");
  }

  @Override
  public List<MemoryRegistrar> registrars() {
    return List.of();
  }

  @Override
  public byte[] offer() {
    return new byte[0];
  }

  @Override
  public Availability judge(byte[] peerOffer) {
    return Availability.usable("the bootstrap connection is there");
  }

  @Override
  public Endpoint initiate(Handshake handshake, EndpointConfig config) throws IOException {
    handshake.send(greeting(config));
    check(handshake.receive(), config);
    return endpoint(handshake, config);
  }

  @Override
  public Endpoint accept(Handshake handshake, EndpointConfig config) throws IOException {
    check(handshake.receive(), config);
    handshake.send(greeting(config));
    return endpoint(handshake, config);
  }

  private static Endpoint endpoint(Handshake handshake, EndpointConfig config) throws IOException {
    SocketChannel socket = handshake.socket();
    socket.setOption(StandardSocketOptions.TCP_NODELAY, true);
    socket.configureBlocking(false);
    ByteChannel stream = handshake.stream();
    String name = stream instanceof SocketChannel ? "tcp " : "tcp with TLS, ";
    String description = name + handshake.localAddress() + " to " + handshake.peerAddress();
    return new TcpEndpoint(stream, config, description);
  }

  private static byte[] greeting(EndpointConfig config) {
    return ByteBuffer.allocate(GREETING_BYTES)
        .putInt(MAGIC)
        .putShort(VERSION)
        .putShort((short) 0)
        .putInt(config.maxMessageBytes())
        .array();
  }

  private static void check(byte[] greeting, EndpointConfig config) throws IOException {
    if (greeting.length != GREETING_BYTES) {
      throw new IOException(
          "tcp greeting has " + greeting.length + " bytes, not " + GREETING_BYTES);
    }
    ByteBuffer in = ByteBuffer.wrap(greeting);
    int magic = in.getInt();
    short version = in.getShort();
    in.getShort();
    int maxMessageBytes = in.getInt();
    if (magic != MAGIC || version != VERSION || maxMessageBytes != config.maxMessageBytes()) {
      throw new IOException(
          "tcp greeting 0x"
              + Integer.toHexString(magic)
              + ", version "
              + version
              + ", messages of "
              + maxMessageBytes
              + " bytes; this side has version "
              + VERSION
              + " and "
              + config.maxMessageBytes()
              + " bytes");
    }
  }

  @Override
  public void close() {}
}
