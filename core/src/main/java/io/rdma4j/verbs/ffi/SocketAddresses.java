package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT_UNALIGNED;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteOrder;

/** Socket addresses between Java and C (struct sockaddr_in, struct sockaddr_in6). */
final class SocketAddresses {
  private static final ValueLayout.OfShort PORT =
      JAVA_SHORT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

  private SocketAddresses() {}

  /** Returns the C form of an address, valid as long as the frame. */
  static MemorySegment toC(Frame frame, InetSocketAddress address) {
    InetAddress ip = address.getAddress();
    if (ip == null) {
      throw new IllegalArgumentException(address + " is not resolved to an IP address");
    }
    MemorySegment c = frame.allocate(Layouts.SOCKADDR_BYTES);
    byte[] bytes = ip.getAddress();
    boolean v4 = bytes.length == 4;
    c.set(JAVA_SHORT, Layouts.SOCKADDR_FAMILY, (short) (v4 ? Layouts.AF_INET : Layouts.AF_INET6));
    c.set(PORT, Layouts.SOCKADDR_PORT, (short) address.getPort());
    MemorySegment.copy(
        bytes,
        0,
        c,
        JAVA_BYTE,
        v4 ? Layouts.SOCKADDR_IN_ADDR : Layouts.SOCKADDR_IN6_ADDR,
        bytes.length);
    if (ip instanceof Inet6Address v6) {
      c.set(JAVA_INT, Layouts.SOCKADDR_IN6_SCOPE_ID, v6.getScopeId());
    }
    return c;
  }

  /** Returns the Java form of an address; the wildcard with port 0 when there is none yet. */
  static InetSocketAddress toJava(MemorySegment c) {
    int family = c.get(JAVA_SHORT, Layouts.SOCKADDR_FAMILY);
    int port = Short.toUnsignedInt(c.get(PORT, Layouts.SOCKADDR_PORT));
    try {
      if (family == Layouts.AF_INET) {
        byte[] ip = c.asSlice(Layouts.SOCKADDR_IN_ADDR, 4).toArray(JAVA_BYTE);
        return new InetSocketAddress(InetAddress.getByAddress(ip), port);
      }
      if (family == Layouts.AF_INET6) {
        byte[] ip = c.asSlice(Layouts.SOCKADDR_IN6_ADDR, 16).toArray(JAVA_BYTE);
        int scope = c.get(JAVA_INT, Layouts.SOCKADDR_IN6_SCOPE_ID);
        InetAddress address =
            scope == 0 ? InetAddress.getByAddress(ip) : Inet6Address.getByAddress(null, ip, scope);
        return new InetSocketAddress(address, port);
      }
      return new InetSocketAddress(port);
    } catch (UnknownHostException e) {
      throw new IllegalStateException("an address of 4 or 16 bytes was refused", e);
    }
  }
}
