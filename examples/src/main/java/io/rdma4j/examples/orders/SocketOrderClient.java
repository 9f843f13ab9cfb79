package io.rdma4j.examples.orders;

import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** Orders over a socket: before. */
final class SocketOrderClient implements OrderEntry {
  private final SocketChannel channel;
  private final ByteBuffer order = ByteBuffer.allocateDirect(OrderWire.ORDER_BYTES);
  private final ByteBuffer answer = ByteBuffer.allocateDirect(OrderWire.ANSWER_BYTES);
  private final MemorySegment orderMemory = MemorySegment.ofBuffer(order);
  private final MemorySegment answerMemory = MemorySegment.ofBuffer(answer);

  SocketOrderClient(InetSocketAddress service) throws IOException {
    channel = SocketChannel.open(service);
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
  }

  @Override
  public long submit(long id, long priceTicks, int quantity) throws IOException {
    OrderWire.writeOrder(orderMemory, id, priceTicks, quantity);
    order.clear();
    while (order.hasRemaining()) {
      channel.write(order);
    }
    answer.clear();
    while (answer.hasRemaining()) {
      if (channel.read(answer) < 0) {
        throw new EOFException("the service closed the connection");
      }
    }
    return OrderWire.place(answerMemory, id);
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
