package io.rdma4j.verbs;

import org.jspecify.annotations.Nullable;

/**
 * What a new reliable-connected queue pair shall offer (struct ibv_qp_init_attr).
 *
 * @param sendQueue completions of sends
 * @param receiveQueue completions of receives
 * @param maxSendWorkRequests depth of the send queue
 * @param maxReceiveWorkRequests depth of the receive queue, 0 with a shared receive queue
 * @param maxSendSge gather entries of one send
 * @param maxReceiveSge scatter entries of one receive
 * @param maxInlineBytes wished inline size; a device that can do less gives what it can, see {@link
 *     QueuePair#maxInlineBytes()}
 * @param sharedReceiveQueue where receives come from, or null for a queue of its own
 */
public record QueuePairConfig(
    CompletionQueue sendQueue,
    CompletionQueue receiveQueue,
    int maxSendWorkRequests,
    int maxReceiveWorkRequests,
    int maxSendSge,
    int maxReceiveSge,
    int maxInlineBytes,
    @Nullable SharedReceiveQueue sharedReceiveQueue) {}
