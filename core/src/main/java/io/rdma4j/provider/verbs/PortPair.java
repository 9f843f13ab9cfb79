package io.rdma4j.provider.verbs;

import io.rdma4j.provider.verbs.PortFacts.Link;
import java.io.IOException;
import java.net.InetAddress;
import java.util.Comparator;
import java.util.List;

/**
 * The two ports of a connection, chosen by the acceptor.
 *
 * <p>Among the pairs that speak the same and have a way to each other, those on the bootstrap's
 * network go first: who connects says by the address where the connection shall run. Then a port
 * whose link has just come back waits until it has settled; then the device nearer to the
 * processors goes first, then the port with fewer connections, then the one listed first.
 *
 * <p>A way is known between two addresses of one network, and between the networks of the two ends
 * of the bootstrap.
 *
 * @param acceptorListens false when the acceptor connects: on RoCE, rdma_cm has both ends send
 *     packets of the size that the connecting end can carry, so the end with the smaller one has to
 *     be that
 * @param choices pairs there were to choose from
 * @param onBootstrapNetwork whether it runs where the bootstrap does
 */
record PortPair(
    LocalPort own,
    PortFacts peer,
    boolean acceptorListens,
    int choices,
    boolean onBootstrapNetwork) {
  private static final Comparator<PortPair> BEST_FIRST =
      Comparator.comparing((PortPair pair) -> !pair.onBootstrapNetwork)
          .thenComparing(pair -> pair.own.facts().settling() || pair.peer.settling())
          .thenComparingInt(pair -> pair.own.facts().distance() + pair.peer.distance())
          .thenComparingLong(
              pair -> (long) pair.own.facts().connections() + pair.peer.connections());

  /** The addresses of the bootstrap connection, at the end that chooses. */
  record Bootstrap(InetAddress local, InetAddress peer) {
    boolean isNetworkOf(PortFacts own, PortFacts other) {
      return own.isOnNetworkOf(local) && other.isOnNetworkOf(peer);
    }
  }

  /**
   * Chooses.
   *
   * @throws IOException naming the ports of both ends when no two of them fit
   */
  static PortPair choose(List<LocalPort> own, List<PortFacts> peers, Bootstrap bootstrap)
      throws IOException {
    List<PortPair> pairs =
        own.stream()
            .flatMap(mine -> peers.stream().map(peer -> of(mine, peer, bootstrap)))
            .filter(PortPair::speaksTheSame)
            .filter(pair -> pair.onBootstrapNetwork || pair.isOnOneNetwork())
            .toList();
    PortPair best =
        pairs.stream().min(BEST_FIRST).orElseThrow(() -> new IOException(noWay(own, peers)));
    return new PortPair(
        best.own, best.peer, best.acceptorListens, pairs.size(), best.onBootstrapNetwork);
  }

  private static PortPair of(LocalPort own, PortFacts peer, Bootstrap bootstrap) {
    boolean listens = peer.link() != Link.ROCE || peer.mtuBytes() <= own.facts().mtuBytes();
    return new PortPair(own, peer, listens, 1, bootstrap.isNetworkOf(own.facts(), peer));
  }

  private boolean speaksTheSame() {
    return own.facts().link() == peer.link();
  }

  private boolean isOnOneNetwork() {
    return own.facts().isOnNetworkOf(peer.address()) || peer.isOnNetworkOf(own.facts().address());
  }

  private static String noWay(List<LocalPort> own, List<PortFacts> peers) {
    return "no port here has a way to one of the peer's: here "
        + String.join(", ", own.stream().map(port -> port + " " + text(port.facts())).toList())
        + "; at the peer "
        + String.join(", ", peers.stream().map(PortPair::text).toList())
        + "; both need an address in one network, or the bootstrap has to run between them";
  }

  private static String text(PortFacts port) {
    return port.link() + " " + port.address().getHostAddress() + "/" + port.prefixBits();
  }

  /** Returns the largest packet that both ports carry. */
  int mtuBytes() {
    return Math.min(own.facts().mtuBytes(), peer.mtuBytes());
  }

  /** Returns why it is this pair, in words. */
  String reason() {
    return (onBootstrapNetwork ? "on the bootstrap's network" : "not on the bootstrap's network")
        + (choices == 1
            ? ", the only pair of ports"
            : ", first of "
                + choices
                + " pairs of ports by settled link, distance ("
                + distance(own.facts())
                + " here, "
                + distance(peer)
                + " there) and connections ("
                + own.facts().connections()
                + " here, "
                + peer.connections()
                + " there)");
  }

  private static String distance(PortFacts port) {
    return port.distance() == PortFacts.UNKNOWN_DISTANCE ? "unknown" : "" + port.distance();
  }
}
