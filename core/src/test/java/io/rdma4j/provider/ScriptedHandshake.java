package io.rdma4j.provider;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** A handshake whose peer has said already all it will say; then it has given up. */
public final class ScriptedHandshake implements Handshake {
  /** What was sent to the peer. */
  public final List<byte[]> sent = new ArrayList<>();

  private final byte[] token;
  private final Deque<byte[]> toReceive;

  /** Creates one whose peer says {@code toReceive}. */
  public ScriptedHandshake(byte[] token, byte[]... toReceive) {
    this.token = token.clone();
    this.toReceive = new ArrayDeque<>(List.of(toReceive));
  }

  @Override
  public byte[] token() {
    return token.clone();
  }

  @Override
  public InetSocketAddress localAddress() {
    throw new UnsupportedOperationException();
  }

  @Override
  public InetSocketAddress peerAddress() {
    throw new UnsupportedOperationException();
  }

  @Override
  public void send(byte[] message) {
    sent.add(message.clone());
  }

  @Override
  public byte[] receive() throws IOException {
    byte[] next = toReceive.poll();
    if (next == null) {
      throw new IOException("the peer has given up: end of the script");
    }
    return next;
  }

  @Override
  public long remainingNs() {
    return 1;
  }

  @Override
  public SocketChannel socket() {
    throw new UnsupportedOperationException();
  }
}
