package io.rdma4j.provider;

/**
 * What two ends have agreed on for a queue pair, and what its device gave.
 *
 * @param mtuBytes payload of one packet, the same at both ends; 0 where TCP decides it (iWARP)
 * @param gidIndex index of the local GID in the port's table, -1 when packets carry none
 * @param sendRequests depth of the send queue
 * @param receiveRequests depth of the receive queue, 0 when it shares receives with other peers
 * @param completions entries of its completion queue, at least one for each request
 * @param gatherEntries pieces that the device collects for one message
 * @param inlineBytes longest message that travels inside its request, header included
 * @param readsStarted reads and atomics under way from here at most
 * @param readsServed reads and atomics of the peer served at a time at most
 */
public record QueuePairLimits(
    int mtuBytes,
    int gidIndex,
    int sendRequests,
    int receiveRequests,
    int completions,
    int gatherEntries,
    int inlineBytes,
    int readsStarted,
    int readsServed) {}
