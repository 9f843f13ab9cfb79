package io.rdma4j.verbs;

import java.net.InetAddress;

/**
 * An IP address that belongs to a port of a device: rdma_cm binds it there.
 *
 * @param address also link-local and loopback ones, where a device takes them
 * @param prefixBits leading bits that all addresses of its network have in common
 * @param device kernel name
 * @param port counted from 1
 */
public record PortAddress(InetAddress address, int prefixBits, String device, int port) {}
