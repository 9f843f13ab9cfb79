package io.rdma4j.host;

import io.rdma4j.host.GidReport.Scope;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the GID to connect from.
 *
 * <p>On Ethernet, v2 goes before v1 since v1 frames are not routed and most switches and peers are
 * set up for v2; a routable address goes before a link-local one, with which a queue pair comes up
 * and its first transfer then fails when the peer is on another link. Among equals, and on
 * InfiniBand, the lowest index: it holds the port's own address, later ones those of VLANs.
 */
final class GidRanking {
  private static final Comparator<GidReport> BEST_FIRST =
      Comparator.comparingInt(GidRanking::rank).thenComparingInt(GidReport::index);

  private GidRanking() {}

  static @Nullable GidReport best(List<GidReport> gids) {
    return gids.stream().min(BEST_FIRST).orElse(null);
  }

  private static int rank(GidReport gid) {
    if (gid.type() == GidReport.Protocol.INFINIBAND) {
      return 0;
    }
    int byType = gid.type() == GidReport.Protocol.ROCE_V2 ? 0 : 10;
    int byScope = gid.scope() == Scope.IPV4 ? 0 : gid.scope() == Scope.GLOBAL ? 1 : 2;
    return byType + byScope;
  }
}
