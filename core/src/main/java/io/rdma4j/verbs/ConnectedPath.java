package io.rdma4j.verbs;

/**
 * What a connected queue pair works with, by its device (struct ibv_qp_attr).
 *
 * @param mtuBytes payload of one packet, 256 to 4096; 0 when the device does not tell
 * @param gidIndex index of the local GID, -1 when packets carry none
 * @param readsStarted outstanding RDMA reads and atomics that it starts at most
 * @param readsServed outstanding RDMA reads and atomics of the peer that it serves at most
 */
public record ConnectedPath(int mtuBytes, int gidIndex, int readsStarted, int readsServed) {}
