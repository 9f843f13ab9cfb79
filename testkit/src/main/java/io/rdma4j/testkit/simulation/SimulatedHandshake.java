package io.rdma4j.testkit.simulation;

import io.rdma4j.provider.Handshake;
import io.rdma4j.testkit.verbs.Waiting;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Queue;
import org.jspecify.annotations.Nullable;

/** One end of a {@link Handshake} in memory; a piece of {@link Turns} waits in it. */
public final class SimulatedHandshake implements Handshake {
  private final SimulatedClock clock;
  private final Waiting waiting;
  private final SimulatedSocket socket;
  private final byte[] token;
  private final long deadlineNs;
  private final Queue<byte[]> incoming = new ArrayDeque<>();
  private @Nullable SimulatedHandshake peer;
  private @Nullable String gaveUp;

  private SimulatedHandshake(
      SimulatedClock clock, Waiting waiting, SimulatedSocket socket, byte[] token, long timeoutNs) {
    this.clock = clock;
    this.waiting = waiting;
    this.socket = socket;
    this.token = token.clone();
    deadlineNs = clock.nowNs() + timeoutNs;
  }

  /** Returns both ends of a handshake over a pair of sockets. */
  public static SimulatedHandshake[] pair(
      SimulatedClock clock,
      Waiting waiting,
      SimulatedSocket[] sockets,
      byte[] token,
      long timeoutNs) {
    var initiator = new SimulatedHandshake(clock, waiting, sockets[0], token, timeoutNs);
    var acceptor = new SimulatedHandshake(clock, waiting, sockets[1], token, timeoutNs);
    initiator.peer = acceptor;
    acceptor.peer = initiator;
    return new SimulatedHandshake[] {initiator, acceptor};
  }

  private SimulatedHandshake peer() {
    if (peer == null) {
      throw new IllegalStateException("half a pair");
    }
    return peer;
  }

  @Override
  public byte[] token() {
    return token.clone();
  }

  @Override
  public InetSocketAddress localAddress() {
    return socket.getLocalAddress();
  }

  @Override
  public InetSocketAddress peerAddress() {
    return socket.getRemoteAddress();
  }

  @Override
  public void send(byte[] message) {
    if (message.length > MAX_MESSAGE_BYTES) {
      throw new IllegalArgumentException(
          "handshake message of " + message.length + " bytes, most is " + MAX_MESSAGE_BYTES);
    }
    peer().incoming.add(message.clone());
  }

  /** Tells the peer that this end has failed, which ends its {@link #receive}. */
  public void giveUp(String reason) {
    peer().gaveUp = new String(reason.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8);
  }

  @Override
  public byte[] receive() throws IOException {
    boolean came = waiting.await(() -> !incoming.isEmpty() || gaveUp != null, remainingNs());
    byte[] message = incoming.poll();
    if (message != null) {
      return message;
    }
    if (gaveUp != null) {
      throw new IOException("the peer has given up: " + gaveUp);
    }
    throw new SocketTimeoutException("no message until the deadline, " + came);
  }

  @Override
  public long remainingNs() {
    return Math.max(0, deadlineNs - clock.nowNs());
  }

  @Override
  public SocketChannel socket() {
    return socket;
  }
}
