package io.rdma4j.os;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/**
 * The running kernel and the part of it this process sees: two processes with equal values can name
 * each other's descriptors.
 *
 * @param bootId random number the kernel drew when it booted
 * @param pidNamespace inode number of the pid namespace
 */
public record HostIdentity(UUID bootId, long pidNamespace) {
  /** Reads the identity of this process's host. */
  public static HostIdentity current() throws IOException {
    String bootId = Files.readString(Path.of("/proc/sys/kernel/random/boot_id")).strip();
    String namespace = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
    return new HostIdentity(
        UUID.fromString(bootId), Long.parseLong(namespace.replaceAll("[^0-9]", "")));
  }
}
