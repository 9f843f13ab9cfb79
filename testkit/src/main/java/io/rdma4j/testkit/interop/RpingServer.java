package io.rdma4j.testkit.interop;

import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.Verbs;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetSocketAddress;
import java.util.Objects;

/**
 * Serves the exchange that {@code rping -c} drives.
 *
 * <p>For each ping the client advertises its source buffer, which the server reads and confirms;
 * then the client advertises its sink, to which the server writes the data back, up to and with the
 * zero byte that ends it, and confirms.
 */
public final class RpingServer implements AutoCloseable {
  private final CmId listener;
  private final long timeoutNs;

  /**
   * Starts to listen.
   *
   * @param timeoutNs for each step
   */
  public RpingServer(Verbs verbs, InetSocketAddress local, long timeoutNs) {
    this.timeoutNs = timeoutNs;
    listener = verbs.createCmId();
    try {
      listener.bind(local);
      listener.listen(1);
    } catch (RuntimeException e) {
      listener.close();
      throw e;
    }
  }

  /** Returns the address listened to. */
  public InetSocketAddress localAddress() {
    return listener.localAddress();
  }

  /** Serves one client until it disconnects; returns the pings served. */
  public int serveOne() {
    CmEvent request = RpingEvents.await(listener, CmEvent.Type.CONNECT_REQUEST, timeoutNs);
    try (CmId id = Objects.requireNonNull(request.newId());
        RpingConnection connection = new RpingConnection(id)) {
      id.accept(RpingConnection.PARAMETERS);
      RpingEvents.await(id, CmEvent.Type.ESTABLISHED, timeoutNs);
      int pings = 0;
      while (ping(connection)) {
        pings++;
      }
      connection.awaitDisconnect(timeoutNs);
      return pings;
    }
  }

  private boolean ping(RpingConnection connection) {
    RpingConnection.Advertisement source = connection.awaitAdvertisement(timeoutNs);
    if (source == null) {
      return false;
    }
    connection.read(source, timeoutNs);
    connection.advertise(source.size(), timeoutNs);
    RpingConnection.Advertisement sink = connection.awaitAdvertisement(timeoutNs);
    if (sink == null) {
      throw new IllegalStateException("the client disconnected before it advertised its sink");
    }
    connection.write(sink, lengthWithEnd(connection.data(), source.size()), timeoutNs);
    connection.advertise(source.size(), timeoutNs);
    return true;
  }

  private static int lengthWithEnd(MemorySegment data, int size) {
    for (int i = 0; i < size; i++) {
      if (data.get(ValueLayout.JAVA_BYTE, i) == 0) {
        return i + 1;
      }
    }
    return size;
  }

  @Override
  public void close() {
    listener.close();
  }
}
