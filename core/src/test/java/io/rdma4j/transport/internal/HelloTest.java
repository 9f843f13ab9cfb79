package io.rdma4j.transport.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.transport.internal.BootstrapChannel.ProtocolException;
import io.rdma4j.transport.internal.Hello.Capability;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;

final class HelloTest {
  private static final int MAGIC_BYTES = 6;

  private static Hello hello(int newest, int oldest, int capabilities, int required) {
    Map<String, byte[]> offers = new LinkedHashMap<>();
    offers.put("shm", new byte[] {1, 2, 3});
    offers.put("tcp", new byte[0]);
    return new Hello(
        newest,
        oldest,
        capabilities,
        required,
        bytes(1),
        bytes(2),
        bytes(3),
        new EndpointConfig(4096, 64, 65_536),
        offers);
  }

  private static byte[] bytes(int value) {
    byte[] bytes = new byte[Hello.ID_BYTES];
    Arrays.fill(bytes, (byte) value);
    return bytes;
  }

  @Test
  void whatIsEncodedIsDecoded() throws ProtocolException {
    Hello hello = Hello.decode(hello(1, 1, 3, 1).encode());
    assertArrayEquals(bytes(1), hello.nodeId());
    assertArrayEquals(bytes(2), hello.token());
    assertArrayEquals(bytes(3), hello.nonce());
    assertEquals(new EndpointConfig(4096, 64, 65_536), hello.config());
    assertEquals(List.of("shm", "tcp"), List.copyOf(hello.offers().keySet()));
    assertArrayEquals(new byte[] {1, 2, 3}, hello.offers().get("shm"));
    assertTrue(hello.has(Capability.RESUME));
  }

  /** Each value of each byte: a hello that says what was sent, or a refusal, and nothing else. */
  @Test
  void everyValueOfEveryByteIsReadOrRefused() {
    byte[] good = hello(1, 1, 1, 1).encode();
    int read = 0;
    int refused = 0;
    for (int at = 0; at < good.length; at++) {
      for (int value = 0; value < 256; value++) {
        byte[] changed = good.clone();
        changed[at] = (byte) value;
        try {
          byte[] again = Hello.decode(changed).encode();
          // A newer hello may carry more than this version reads.
          assertArrayEquals(Arrays.copyOf(changed, again.length), again, "byte " + at);
          read++;
        } catch (ProtocolException e) {
          refused++;
          assertTrue(changed[at] != good[at], "the unchanged hello was refused: " + e);
        }
      }
    }
    assertEquals(good.length * 256, read + refused);
    assertTrue(refused > MAGIC_BYTES * 255, refused + " refused");
  }

  @Test
  void aHelloCutAnywhereIsRefused() {
    byte[] good = hello(1, 1, 0, 0).encode();
    for (int length = 0; length < good.length; length++) {
      byte[] cut = Arrays.copyOf(good, length);
      assertThrows(ProtocolException.class, () -> Hello.decode(cut), "length " + length);
    }
  }

  @Test
  void moreThanAHelloIsRefusedUnlessItIsOfANewerVersion() throws ProtocolException {
    byte[] longer = hello(1, 1, 0, 0).encode();
    byte[] tooLong = Arrays.copyOf(longer, longer.length + 1);
    assertThrows(ProtocolException.class, () -> Hello.decode(tooLong));
    byte[] newer = hello(2, 1, 0, 0).encode();
    assertEquals(2, Hello.decode(Arrays.copyOf(newer, newer.length + 40)).newestVersion());
  }

  @Test
  void versionsWithoutAnOverlapAreRefusedWithBothRanges() {
    for (int[] range : new int[][] {{3, 2}, {0, 0}, {1, 2}, {1, 0}}) {
      ProtocolException refusal =
          assertThrows(
              ProtocolException.class,
              () -> Hello.decode(hello(range[0], range[1], 0, 0).encode()));
      String message = String.valueOf(refusal.getMessage());
      assertTrue(
          message.contains(range[1] + " to " + range[0]) && message.contains("this end 1 to 1"),
          message);
    }
  }

  @Test
  void anOfferTwiceOrWithAnOddNameIsRefused() {
    byte[] good = hello(1, 1, 0, 0).encode();
    int shm = new String(good, java.nio.charset.StandardCharsets.ISO_8859_1).indexOf("shm");
    byte[] twice = good.clone();
    System.arraycopy("tcp".getBytes(java.nio.charset.StandardCharsets.US_ASCII), 0, twice, shm, 3);
    assertThrows(ProtocolException.class, () -> Hello.decode(twice));
    for (byte odd : new byte[] {0, '\n', ' ', 'A', '"', (byte) 0xff}) {
      byte[] changed = good.clone();
      changed[shm] = odd;
      assertThrows(ProtocolException.class, () -> Hello.decode(changed), "byte " + odd);
    }
  }

  @Test
  void capabilitiesAreRequiredByName() throws ProtocolException {
    Hello with = Hello.decode(hello(1, 1, 1, 1).encode());
    Hello without = Hello.decode(hello(1, 1, 0, 0).encode());
    assertNull(with.missing(with, "a", "b"));
    assertNull(without.missing(without, "a", "b"));
    assertEquals("b requires a shared secret, a has none", with.missing(without, "a", "b"));
    assertEquals("a requires a shared secret, b has none", without.missing(with, "a", "b"));
    Hello unknown = Hello.decode(hello(1, 1, 1 << 30, 1 << 30).encode());
    String words = Objects.requireNonNull(unknown.missing(without, "a", "b"));
    assertTrue(words.contains("0x40000000"), words);
    // What a newer node can do and does not insist on is none of our business.
    assertNull(Hello.decode(hello(1, 1, 1 << 30, 0).encode()).missing(without, "a", "b"));
    assertThrows(ProtocolException.class, () -> Hello.decode(hello(1, 1, 0, 1).encode()));
  }
}
