package io.rdma4j.examples.orders;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** The order service over sockets: before. A thread for each client. */
final class SocketOrderService implements AutoCloseable {
  private final OrderBook book;
  private final ServerSocketChannel listener;

  SocketOrderService(OrderBook book, InetSocketAddress address) throws IOException {
    this.book = book;
    listener = ServerSocketChannel.open().bind(address);
    Thread.ofPlatform().daemon().name("orders-accept").start(this::acceptAll);
  }

  InetSocketAddress address() throws IOException {
    return (InetSocketAddress) listener.getLocalAddress();
  }

  private void acceptAll() {
    try {
      while (true) {
        SocketChannel client = listener.accept();
        client.setOption(StandardSocketOptions.TCP_NODELAY, true);
        Thread.ofPlatform().daemon().name("orders-client").start(() -> serve(client));
      }
    } catch (ClosedChannelException e) {
      // The service is closed.
    } catch (IOException e) {
      System.err.println("no more clients are taken: " + e);
    }
  }

  private void serve(SocketChannel client) {
    ByteBuffer order = ByteBuffer.allocateDirect(OrderWire.ORDER_BYTES);
    ByteBuffer answer = ByteBuffer.allocateDirect(OrderWire.ANSWER_BYTES);
    MemorySegment orderMemory = MemorySegment.ofBuffer(order);
    MemorySegment answerMemory = MemorySegment.ofBuffer(answer);
    try (client) {
      while (true) {
        while (order.hasRemaining()) {
          if (client.read(order) < 0) {
            return;
          }
        }
        OrderWire.answer(book, orderMemory, 0, answerMemory);
        while (answer.hasRemaining()) {
          client.write(answer);
        }
        order.clear();
        answer.clear();
      }
    } catch (IOException e) {
      System.err.println("a client is lost: " + e);
    }
  }

  /** Takes no more clients; those that are connected end by themselves. */
  @Override
  public void close() throws IOException {
    listener.close();
  }
}
