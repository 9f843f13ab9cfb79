package io.rdma4j.transport;

import io.rdma4j.Availability;
import io.rdma4j.pool.PoolStatistics;
import java.util.List;
import java.util.Map;

/**
 * A node at one moment.
 *
 * @param paths paths in the node's order, each with whether it can be used and why
 * @param connections open connections
 * @param pool the pool's statistics
 * @param handshakesFailed incoming connections that never became one: strangers, time-outs,
 *     refusals
 * @param proofsRefused peers, on either side of a connect, that could not prove the shared secret
 *     or whose certificate is not trusted
 * @param lateReplies replies that came after their request had ended
 */
public record NodeStatus(
    Map<String, Availability> paths,
    List<ConnectionStatus> connections,
    PoolStatistics pool,
    long handshakesFailed,
    long proofsRefused,
    long lateReplies) {}
