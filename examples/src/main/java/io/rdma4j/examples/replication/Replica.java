package io.rdma4j.examples.replication;

import io.rdma4j.SendResult;
import io.rdma4j.provider.MemoryAccess;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.ExportedRegion;
import io.rdma4j.transport.Message;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.RegionDescriptor;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;

/**
 * Holds a copy of the log. The primary writes into its memory by itself; all that runs here for a
 * record is {@link ConnectionHandler#onImmediate}.
 *
 * <pre>
 *  request, 1 byte          reply
 *   OPEN                     0  region descriptor  32
 *                           32  end of the log      8
 *   VERIFY                   0  records, each checked  8
 * </pre>
 */
public final class Replica implements AutoCloseable {
  static final byte OPEN = 1;
  static final byte VERIFY = 2;
  static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG_UNALIGNED;
  private static final int OPEN_REPLY_BYTES = RegionDescriptor.BYTES + Long.BYTES;

  private final Arena arena = Arena.ofShared();
  private final CommitLog log;
  private final Node node;
  private final CompletableFuture<ExportedRegion> region = new CompletableFuture<>();

  /** Starts to listen with an empty log. */
  Replica(NodeConfig.Builder config, InetSocketAddress address, long capacityBytes) {
    log = new CommitLog(arena.allocate(capacityBytes, 4096));
    try {
      node = Node.start(config.listen(address, (peer, path) -> new Primaries()).build());
    } catch (RuntimeException e) {
      arena.close();
      throw e;
    }
    region.complete(
        node.export(log.memory(), MemoryAccess.LOCAL_WRITE | MemoryAccess.REMOTE_WRITE));
  }

  InetSocketAddress address() {
    return Objects.requireNonNull(node.listenAddress());
  }

  CommitLog log() {
    return log;
  }

  /** Called by the polling thread alone. */
  private final class Primaries implements ConnectionHandler {
    private final MemorySegment reply = Arena.ofAuto().allocate(OPEN_REPLY_BYTES, Long.BYTES);

    @Override
    public void onMessage(Connection connection, Message message) {
      byte kind =
          message.lengthBytes() == 1
              ? message.memory().get(ValueLayout.JAVA_BYTE, message.offset())
              : 0;
      long sent =
          switch (kind) {
            case OPEN -> open(message);
            case VERIFY -> verify(message);
            default -> message.fail("no request of this protocol");
          };
      if (sent < 0) {
        System.err.println("no reply to " + connection + ": " + SendResult.nameOf(sent));
      }
    }

    private long open(Message message) {
      region.join().descriptor().write(reply, 0);
      reply.set(LONG, RegionDescriptor.BYTES, log.end());
      return message.reply(reply, 0, OPEN_REPLY_BYTES);
    }

    private long verify(Message message) {
      try {
        reply.set(LONG, 0, log.verify());
      } catch (IllegalStateException e) {
        return message.fail(e.toString());
      }
      return message.reply(reply, 0, Long.BYTES);
    }

    @Override
    public void onImmediate(Connection connection, int immediate, int lengthBytes) {
      log.advance(CommitLog.ofImmediate(immediate));
    }
  }

  /** Ends the node first: then nobody writes into the memory any more. */
  @Override
  public void close() {
    region.join().close();
    node.close();
    arena.close();
  }

  /**
   * A replica in a process of its own, which prints its port and ends with its standard input.
   *
   * @param args port (0 for a free one), capacity in bytes, paths in order of preference
   */
  public static void main(String[] args) throws IOException {
    var address =
        new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(args[0]));
    String[] paths = Arrays.copyOfRange(args, 2, args.length);
    try (var replica =
        new Replica(NodeConfig.builder().paths(paths), address, Long.parseLong(args[1]))) {
      System.out.println(replica.address().getPort());
      while (System.in.read() >= 0) {}
    }
  }
}
