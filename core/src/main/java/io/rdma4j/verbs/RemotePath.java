package io.rdma4j.verbs;

/**
 * What a queue pair must know of its peer when it is connected by hand rather than by rdma_cm
 * (struct ibv_qp_attr and ibv_ah_attr).
 *
 * @param port local port
 * @param sourceGidIndex index of the local GID
 * @param destinationGid 16 bytes in network order
 * @param destinationLid 0 on Ethernet
 * @param destinationQueuePair peer's queue pair number
 * @param mtuBytes 256, 512, 1024, 2048 or 4096, the same on both sides
 * @param receivePacketNumber first packet sequence number expected from the peer
 * @param sendPacketNumber first packet sequence number this side sends
 * @param timeoutExponent local ack timeout of 4.096 us * 2^n, 0 is endless
 * @param retryCount transport retries, 0 to 7
 * @param rnrRetryCount receiver-not-ready retries, 7 is endless
 */
public record RemotePath(
    int port,
    int sourceGidIndex,
    byte[] destinationGid,
    int destinationLid,
    int destinationQueuePair,
    int mtuBytes,
    int receivePacketNumber,
    int sendPacketNumber,
    int timeoutExponent,
    int retryCount,
    int rnrRetryCount) {}
