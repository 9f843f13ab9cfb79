package io.rdma4j.testkit.interop;

import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.Verbs;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;

/** Drives the exchange that {@code rping -s} serves; see {@link RpingServer}. */
public final class RpingClient {
  private static final int RESOLVE_TIMEOUT_MS = 2000;

  private RpingClient() {}

  /**
   * Connects, pings and disconnects.
   *
   * @param dataBytes size of each ping
   * @param timeoutNs for each step
   * @throws IllegalStateException when a step fails or data comes back changed
   */
  public static void ping(
      Verbs verbs, InetSocketAddress server, int count, int dataBytes, long timeoutNs) {
    try (CmId id = verbs.createCmId()) {
      id.resolveAddress(null, server, RESOLVE_TIMEOUT_MS);
      RpingEvents.await(id, CmEvent.Type.ADDR_RESOLVED, timeoutNs);
      id.resolveRoute(RESOLVE_TIMEOUT_MS);
      RpingEvents.await(id, CmEvent.Type.ROUTE_RESOLVED, timeoutNs);
      try (RpingConnection connection = new RpingConnection(id)) {
        id.connect(RpingConnection.PARAMETERS);
        RpingEvents.await(id, CmEvent.Type.ESTABLISHED, timeoutNs);
        for (int i = 0; i < count; i++) {
          ping(connection, i, dataBytes, timeoutNs);
        }
        id.disconnect();
        RpingEvents.await(id, CmEvent.Type.DISCONNECTED, timeoutNs);
      }
    }
  }

  private static void ping(RpingConnection connection, int number, int dataBytes, long timeoutNs) {
    MemorySegment data = connection.data().asSlice(0, dataBytes);
    byte[] sent = text(number, dataBytes);
    MemorySegment.copy(sent, 0, data, ValueLayout.JAVA_BYTE, 0, dataBytes);
    connection.advertise(dataBytes, timeoutNs);
    awaitConfirmation(connection, timeoutNs);
    data.fill((byte) 0xff);
    connection.advertise(dataBytes, timeoutNs);
    awaitConfirmation(connection, timeoutNs);
    long difference = data.mismatch(MemorySegment.ofArray(sent));
    if (difference >= 0) {
      throw new IllegalStateException("ping " + number + " came back changed at " + difference);
    }
  }

  private static void awaitConfirmation(RpingConnection connection, long timeoutNs) {
    if (connection.awaitAdvertisement(timeoutNs) == null) {
      throw new IllegalStateException("the server disconnected in the middle of a ping");
    }
  }

  /** A line that names the ping, then rolling letters, then the zero that ends it. */
  private static byte[] text(int number, int dataBytes) {
    byte[] text = new byte[dataBytes];
    String head = "rdma-ping-" + number + ": ";
    for (int i = 0; i < dataBytes - 1; i++) {
      text[i] = (byte) (i < head.length() ? head.charAt(i) : 'A' + (number + i) % 26);
    }
    return text;
  }
}
