package io.rdma4j.provider;

/**
 * The queue pair of an endpoint at one moment.
 *
 * @param number its number on this device
 * @param state {@code RTS} while it sends and receives, {@code ERR} once it has failed or is being
 *     taken down
 * @param port port of the device, counted from 1
 * @param limits what was agreed on when it was connected
 */
public record QueuePairStatus(int number, String state, int port, QueuePairLimits limits) {}
