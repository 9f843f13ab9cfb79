package io.rdma4j.verbs.ffi;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SocketAddressesTest {
  @ParameterizedTest
  @CsvSource({"10.9.0.1, 7174", "0.0.0.0, 0", "255.1.2.3, 65535", "fe80::1:2, 1", "::, 40000"})
  void survivesTheRoundTrip(String host, int port) {
    try (Frame frame = new Frame()) {
      InetSocketAddress address = new InetSocketAddress(host, port);
      assertEquals(address, SocketAddresses.toJava(SocketAddresses.toC(frame, address)));
    }
  }

  @Test
  void writesThePortInNetworkOrder() {
    try (Frame frame = new Frame()) {
      var c = SocketAddresses.toC(frame, new InetSocketAddress("1.2.3.4", 0x1234));
      byte[] portAndAddress = c.asSlice(2, 6).toArray(ValueLayout.JAVA_BYTE);
      assertArrayEquals(new byte[] {0x12, 0x34, 1, 2, 3, 4}, portAndAddress);
    }
  }

  @Test
  void refusesAnUnresolvedName() {
    try (Frame frame = new Frame()) {
      InetSocketAddress unresolved = InetSocketAddress.createUnresolved("no.such.host", 1);
      assertThrows(IllegalArgumentException.class, () -> SocketAddresses.toC(frame, unresolved));
    }
  }
}
