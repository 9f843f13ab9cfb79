package io.rdma4j.provider.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.SendResult;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.Recorder;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One endpoint against a real socket whose other end is driven byte by byte. */
@Timeout(60)
final class TcpEndpointTest {
  private static final int MAX = 1000;
  private static final EndpointConfig CONFIG = new EndpointConfig(MAX, 16, 8192);

  private final Recorder recorder = new Recorder();
  private SocketChannel stranger;
  private SocketChannel socket;
  private TcpEndpoint endpoint;

  TcpEndpointTest() throws IOException {
    try (ServerSocketChannel server = ServerSocketChannel.open()) {
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      stranger = SocketChannel.open(server.getLocalAddress());
      socket = server.accept();
    }
    endpoint = new TcpEndpoint(socket, CONFIG, "tcp test");
  }

  @BeforeEach
  void setUp() throws IOException {
    stranger.setOption(StandardSocketOptions.TCP_NODELAY, true);
    socket.configureBlocking(false);
  }

  @AfterEach
  void closeAll() throws IOException {
    endpoint.close(recorder);
    socket.close();
    stranger.close();
  }

  private void say(byte[] bytes) throws IOException {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    while (buffer.hasRemaining()) {
      stranger.write(buffer);
    }
  }

  private static byte[] frame(int lengthBytes, int type, int flags, long id, byte[] payload) {
    return ByteBuffer.allocate(16 + payload.length)
        .putInt(lengthBytes)
        .put((byte) type)
        .put((byte) flags)
        .putShort((short) 0)
        .putLong(id)
        .put(payload)
        .array();
  }

  private void pollUntil(BooleanSupplier done) {
    for (int i = 0; !done.getAsBoolean(); i++) {
      if (endpoint.poll(recorder, 4) == 0) {
        LockSupport.parkNanos(10_000);
      }
      assertTrue(i < 1_000_000, "nothing came");
    }
  }

  private EndpointFailure failure() {
    pollUntil(() -> !recorder.failures.isEmpty());
    assertEquals(0, endpoint.poll(recorder, 4));
    assertEquals(1, recorder.failures.size());
    MemorySegment one = MemorySegment.ofArray(new byte[1]);
    assertEquals(SendResult.NOT_CONNECTED, endpoint.send(0, 0, one, 0, 1));
    return recorder.failures.getFirst();
  }

  @Test
  void aBrowserIsAProtocolFailure() throws IOException {
    say("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
    EndpointFailure failure = failure();
    assertEquals(EndpointFailure.Kind.PROTOCOL, failure.kind());
    assertTrue(failure.message().contains("1195725856 bytes"), failure::message);
  }

  @Test
  void threeBytesAndAnEndAreALostPeer() throws IOException {
    say(new byte[3]);
    stranger.close();
    EndpointFailure failure = failure();
    assertEquals(EndpointFailure.Kind.PEER_LOST, failure.kind());
    assertTrue(failure.message().contains("3 bytes of an unfinished frame"), failure::message);
  }

  @Test
  void lengthZeroIsAnEmptyMessage() throws IOException {
    say(frame(0, 255, 0, -1, new byte[0]));
    pollUntil(() -> recorder.messages.size() == 1);
    Recorder.Message message = recorder.messages.getFirst();
    assertEquals(255, message.type());
    assertEquals(-1, message.correlationId());
    assertEquals(0, message.payload().length);
    assertEquals(0, recorder.failures.size());
  }

  @Test
  void oneByteTooLongIsAProtocolFailure() throws IOException {
    say(frame(5, 1, 0, 1, new byte[5]));
    say(frame(MAX + 1, 1, 0, 2, new byte[0]));
    EndpointFailure failure = failure();
    assertEquals(EndpointFailure.Kind.PROTOCOL, failure.kind());
    assertTrue(failure.message().contains(MAX + 1 + " bytes"), failure::message);
    assertEquals(1, recorder.messages.size(), "what came before was delivered");
  }

  @Test
  void unknownFlagsAndReservedBitsAreProtocolFailures() throws IOException {
    byte[] reserved = frame(0, 0, 0, 0, new byte[0]);
    reserved[7] = 1;
    say(reserved);
    assertEquals(EndpointFailure.Kind.PROTOCOL, failure().kind());
  }

  @Test
  void aCloseFrameWithLengthIsAProtocolFailure() throws IOException {
    say(frame(1, 0, 1, 0, new byte[1]));
    assertEquals(EndpointFailure.Kind.PROTOCOL, failure().kind());
  }

  @Test
  void theLongestMessageArrivesByteByByte() throws IOException {
    byte[] payload = new byte[MAX];
    new Random(1).nextBytes(payload);
    byte[] bytes = frame(MAX, 9, 0, 77, payload);
    for (byte b : bytes) {
      assertEquals(0, recorder.messages.size());
      say(new byte[] {b});
      endpoint.poll(recorder, 4);
    }
    pollUntil(() -> recorder.messages.size() == 1);
    assertArrayEquals(payload, recorder.messages.getFirst().payload());
    assertEquals(0, recorder.failures.size());
  }

  @Test
  void aCloseFrameIsAnOrderlyEnd() throws IOException {
    say(frame(3, 1, 0, 1, new byte[3]));
    say(frame(0, 0, 1, 0, new byte[0]));
    stranger.close();
    assertEquals(EndpointFailure.Kind.PEER_CLOSED, failure().kind());
    assertEquals(1, recorder.messages.size());
  }

  @Test
  void aResetIsALostPeer() throws IOException {
    stranger.setOption(StandardSocketOptions.SO_LINGER, 0);
    stranger.close();
    EndpointFailure failure = failure();
    assertEquals(EndpointFailure.Kind.PEER_LOST, failure.kind());
  }

  @Test
  void closingWritesWhatWaitsAndACloseFrame() throws IOException {
    MemorySegment source = MemorySegment.ofArray(new byte[] {1, 2, 3});
    assertEquals(SendResult.OK, endpoint.send(4, 5, source, 0, 3));
    endpoint.close(recorder);
    socket.close();
    ByteBuffer all = ByteBuffer.allocate(100);
    while (stranger.read(all) >= 0) {
      assertTrue(all.hasRemaining());
    }
    ByteBuffer expected = ByteBuffer.allocate(35);
    expected.put(frame(3, 4, 0, 5, new byte[] {1, 2, 3})).put(frame(0, 0, 1, 0, new byte[0]));
    assertEquals(expected.flip(), all.flip());
  }

  @Test
  void resumesPartialWritesAroundTheEndOfTheRing() throws IOException {
    long seed = new SplittableRandom().nextLong();
    MemorySegment source = MemorySegment.ofArray(new byte[MAX]);
    ByteBuffer received = ByteBuffer.allocate(1 << 20);
    stranger.configureBlocking(false);
    long sent = 0;
    long checked = 0;
    while (checked < 20_000) {
      if (sent < 20_000) {
        SplittableRandom next = new SplittableRandom(seed + sent);
        int lengthBytes = next.nextInt(MAX + 1);
        source.asSlice(0, lengthBytes).fill((byte) next.nextInt());
        if (endpoint.send((int) (sent & 0xFF), sent, source, 0, lengthBytes) >= 0) {
          sent++;
          continue;
        }
      }
      endpoint.poll(recorder, 4);
      stranger.read(received);
      received.flip();
      while (received.remaining() >= 16
          && received.remaining() >= 16 + received.getInt(received.position())) {
        SplittableRandom expected = new SplittableRandom(seed + checked);
        int lengthBytes = expected.nextInt(MAX + 1);
        byte fill = (byte) expected.nextInt();
        assertEquals(lengthBytes, received.getInt(), "seed " + seed + ", message " + checked);
        assertEquals((int) (checked & 0xFF) << 24, received.getInt());
        assertEquals(checked, received.getLong());
        for (int i = 0; i < lengthBytes; i++) {
          assertEquals(fill, received.get(), "seed " + seed + ", message " + checked);
        }
        checked++;
      }
      received.compact();
    }
    assertEquals(0, recorder.failures.size());
  }
}
