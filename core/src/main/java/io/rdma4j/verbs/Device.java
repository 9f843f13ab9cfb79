package io.rdma4j.verbs;

import org.jspecify.annotations.Nullable;

/**
 * An opened device context.
 *
 * <p>Safe for use by several threads. The opener owns it; {@link #close()} closes everything made
 * from it, children first.
 */
public interface Device extends AutoCloseable {
  /** Returns the kernel name. */
  String name();

  /** Returns the limits of the device (ibv_query_device(3)). */
  DeviceAttributes attributes();

  /**
   * Returns the present state of a port (ibv_query_port(3)).
   *
   * @param port number, counted from 1
   */
  PortAttributes port(int port);

  /** Returns an entry of a port's GID table, 16 bytes in network order (ibv_query_gid(3)). */
  byte[] gid(int port, int index);

  /** Allocates a protection domain. */
  ProtectionDomain allocateProtectionDomain();

  /** Creates a completion event channel. */
  CompletionChannel createCompletionChannel();

  /**
   * Creates a completion queue of at least {@code entries} entries.
   *
   * @param channel where its events go, or null for a queue that is polled only
   * @param completionVector interrupt vector, below the device's number of vectors
   * @throws io.rdma4j.VerbsException also when {@code entries} exceeds the device's limit: a queue
   *     is never silently cut
   */
  CompletionQueue createCompletionQueue(
      int entries, @Nullable CompletionChannel channel, int completionVector);

  /**
   * Returns the next asynchronous event without blocking, already acknowledged, or null when there
   * is none.
   */
  @Nullable AsyncEvent pollAsyncEvent();

  @Override
  void close();
}
