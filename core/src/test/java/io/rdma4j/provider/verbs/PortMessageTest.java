package io.rdma4j.provider.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.verbs.PortFacts.Link;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What two ends tell each other of their ports arrives as it was, and nothing else is taken. */
final class PortMessageTest {
  private final Loop loop = new Loop();

  private static LocalPort port(String address, int prefix, Link link, int mtu) throws IOException {
    var facts = new PortFacts(InetAddress.getByName(address), prefix, link, mtu, 21, 7, true);
    return new LocalPort("mlx5_0", 1, facts);
  }

  private static List<LocalPort> ports() throws IOException {
    return List.of(
        port("192.0.2.6", 24, Link.ROCE, 4096),
        port("2001:db8::6", 64, Link.INFINIBAND, 2048),
        port("198.51.100.6", 32, Link.IWARP, 256));
  }

  @Test
  void portsArriveAsTheyWere() throws IOException {
    List<LocalPort> sent = ports();
    PortMessage.sendPorts(loop, sent);
    assertEquals(sent.stream().map(LocalPort::facts).toList(), PortMessage.receivePorts(loop));
  }

  @Test
  void noMorePortsGoOutThanFit() throws IOException {
    List<LocalPort> sent = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      sent.add(port("10.0.0." + i, 24, Link.ROCE, 1024));
    }
    PortMessage.sendPorts(loop, sent);
    List<PortFacts> received = PortMessage.receivePorts(loop);
    assertEquals(PortMessage.MOST_PORTS, received.size());
    assertEquals(sent.getFirst().facts(), received.getFirst());
  }

  @ParameterizedTest
  @CsvSource({"true, true", "true, false", "false, true", "false, false"})
  void aChoiceArrivesFromTheOtherSide(boolean listens, boolean onNetwork) throws IOException {
    List<LocalPort> initiators = ports();
    LocalPort acceptors = port("192.0.2.7", 24, Link.ROCE, 1024);
    PortFacts chosen = initiators.get(2).facts();
    PortMessage.sendChoice(
        loop,
        new PortPair(acceptors, chosen, listens, 12, onNetwork),
        initiators.stream().map(LocalPort::facts).toList());
    assertEquals(
        new PortPair(initiators.get(2), acceptors.facts(), listens, 12, onNetwork),
        PortMessage.receiveChoice(loop, initiators));
  }

  /** A peer may send anything: it is understood, or refused as an I/O failure. */
  @Test
  void damagedMessagesAreRefused() throws IOException {
    long seed = Long.getLong("seed", System.nanoTime());
    var random = new SplittableRandom(seed);
    int refused = 0;
    for (int i = 0; i < 20_000; i++) {
      PortMessage.sendPorts(loop, ports());
      byte[] message = loop.receive();
      for (int damage = random.nextInt(1, 4); damage > 0; damage--) {
        message[random.nextInt(message.length)] = (byte) random.nextInt();
      }
      if (random.nextInt(4) == 0) {
        message = Arrays.copyOf(message, random.nextInt(2 * message.length));
      }
      loop.send(message);
      try {
        List<PortFacts> understood = PortMessage.receivePorts(loop);
        assertTrue(understood.size() <= PortMessage.MOST_PORTS);
      } catch (IOException expected) {
        refused++;
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed + ", " + Arrays.toString(message), e);
      }
      loop.messages.clear();
    }
    assertTrue(refused > 1000, "seed " + seed + ": " + refused);
  }

  @ParameterizedTest
  @CsvSource({"0, 9", "1, 2", "2, 3", "2, -1", "2, 127"})
  void aDamagedChoiceIsRefused(int at, int value) throws IOException {
    List<LocalPort> initiators = ports();
    PortMessage.sendChoice(
        loop,
        new PortPair(initiators.getFirst(), initiators.getFirst().facts(), true, 1, true),
        initiators.stream().map(LocalPort::facts).toList());
    byte[] message = loop.receive();
    message[at] = (byte) value;
    loop.send(message);
    assertThrows(IOException.class, () -> PortMessage.receiveChoice(loop, initiators));
    loop.send(Arrays.copyOf(message, message.length - 1));
    assertThrows(IOException.class, () -> PortMessage.receiveChoice(loop, initiators));
  }

  @ParameterizedTest
  @CsvSource({
    "192.0.2.6, 24, 192.0.2.255, true",
    "192.0.2.6, 24, 192.0.3.6, false",
    "192.0.2.6, 31, 192.0.2.7, true",
    "192.0.2.6, 32, 192.0.2.7, false",
    "192.0.2.6, 0, 8.8.8.8, true",
    "2001:db8::6, 64, 2001:db8::ffff, true",
    "2001:db8::6, 64, 2001:db8:0:1::6, false",
    "192.0.2.6, 24, 2001:db8::6, false",
    "fe80::1, 64, fe80::2, false",
    "fe80::1, 64, fe80::1, true",
  })
  void networksAreTheirPrefixes(String address, int prefix, String other, boolean same)
      throws IOException {
    PortFacts facts = port(address, prefix, Link.ROCE, 4096).facts();
    assertEquals(same, facts.isOnNetworkOf(InetAddress.getByName(other)));
  }

  /** What one end sends, the same end receives. */
  private static final class Loop implements Handshake {
    final Queue<byte[]> messages = new ArrayDeque<>();

    @Override
    public void send(byte[] message) {
      assertTrue(message.length <= MAX_MESSAGE_BYTES);
      messages.add(message);
    }

    @Override
    public byte[] receive() {
      return messages.remove();
    }

    @Override
    public byte[] token() {
      return new byte[16];
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
    public long remainingNs() {
      return 1;
    }

    @Override
    public SocketChannel socket() {
      throw new UnsupportedOperationException();
    }
  }
}
