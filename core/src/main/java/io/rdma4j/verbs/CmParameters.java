package io.rdma4j.verbs;

/**
 * Parameters of a connect or accept (struct rdma_conn_param).
 *
 * @param privateData at most 56 bytes for a connect, 196 for an accept (rdma_connect(3),
 *     rdma_accept(3)); the peer may see trailing zero bytes
 * @param responderResources outstanding RDMA reads served
 * @param initiatorDepth outstanding RDMA reads started
 * @param retryCount transport retries, 0 to 7
 * @param rnrRetryCount receiver-not-ready retries, 7 is endless
 */
public record CmParameters(
    byte[] privateData,
    int responderResources,
    int initiatorDepth,
    int retryCount,
    int rnrRetryCount) {}
