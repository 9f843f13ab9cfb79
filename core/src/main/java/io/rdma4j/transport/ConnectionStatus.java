package io.rdma4j.transport;

import io.rdma4j.provider.QueuePairStatus;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Counters of one connection at one moment. Each counter has one writer and never falls; they are
 * read without a lock, so related ones may differ by what is under way.
 *
 * @param id number of the connection within its node
 * @param peer peer's bootstrap address
 * @param path path used and why
 * @param queuePair queue pair with what was agreed on for it, null where the path has none
 * @param state state by name
 * @param messagesSent messages, requests and replies handed to the path
 * @param bytesSent their payload bytes
 * @param messagesReceived messages, requests and replies delivered
 * @param bytesReceived their payload bytes
 * @param backPressured sends refused for want of room
 * @param requestsOutstanding requests without reply
 * @param messagesHandedOver payloads taken in the block they had arrived in
 * @param messagesCopied payloads taken as copies: short ones, and where they lay elsewhere
 * @param takesRefused payloads not taken for want of a free block
 * @param handlerErrors exceptions thrown by the handler
 */
public record ConnectionStatus(
    long id,
    InetSocketAddress peer,
    PathChoice path,
    @Nullable QueuePairStatus queuePair,
    String state,
    long messagesSent,
    long bytesSent,
    long messagesReceived,
    long bytesReceived,
    long backPressured,
    int requestsOutstanding,
    long messagesHandedOver,
    long messagesCopied,
    long takesRefused,
    long handlerErrors) {}
