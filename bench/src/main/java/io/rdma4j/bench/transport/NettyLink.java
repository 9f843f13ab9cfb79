package io.rdma4j.bench.transport;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ManualIoEventLoop;
import java.io.EOFException;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Messages behind their length, 4 bytes each, one pooled buffer for all between two flushes. */
final class NettyLink extends Link {
  private static final int LENGTH_BYTES = 4;
  private static final int BUFFER_BYTES = 4 * MAX_MESSAGE_BYTES;

  private final ManualIoEventLoop loop;
  private final Handler handler = new Handler();
  private @Nullable Channel channel;
  private @Nullable ByteBuf out;
  private @Nullable ByteBuf rest;
  private @Nullable IOException failure;
  private int delivered;

  NettyLink(ManualIoEventLoop loop) {
    this.loop = loop;
  }

  ChannelHandler handler() {
    return handler;
  }

  boolean isConnected() {
    return channel != null;
  }

  private Channel channel() throws IOException {
    if (channel == null) {
      throw new IOException("Netty is not connected");
    }
    return channel;
  }

  @Override
  boolean offer(long sequence, long flags, int lengthBytes) throws IOException {
    Channel to = channel();
    ByteBuf buffer = out;
    if (buffer == null) {
      if (!to.isWritable()) {
        loop.runNow();
        return false;
      }
      buffer = to.alloc().ioBuffer();
      out = buffer;
    }
    int at = buffer.writerIndex();
    if (BUFFER_BYTES - at < LENGTH_BYTES + lengthBytes) {
      return false;
    }
    buffer
        .ensureWritable(LENGTH_BYTES + lengthBytes)
        .setIntLE(at, lengthBytes)
        .setLongLE(at + LENGTH_BYTES, sequence)
        .setLongLE(at + LENGTH_BYTES + 8, flags)
        .writerIndex(at + LENGTH_BYTES + lengthBytes);
    return true;
  }

  /** A void promise has no result: its failures reach {@link Handler#exceptionCaught}. */
  @Override
  @SuppressWarnings("FutureReturnValueIgnored")
  void flush() throws IOException {
    ByteBuf buffer = out;
    if (buffer != null) {
      out = null;
      Channel to = channel();
      to.writeAndFlush(buffer, to.voidPromise());
    }
  }

  @Override
  int poll() throws IOException {
    flush();
    delivered = 0;
    loop.runNow();
    if (failure != null) {
      throw failure;
    }
    return delivered;
  }

  /** Runs the loop until everything is closed. */
  @Override
  @SuppressWarnings("FutureReturnValueIgnored")
  public void close() {
    Channel open = channel;
    if (open != null) {
      open.close();
    }
    loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    while (!loop.isTerminated()) {
      loop.runNow();
    }
  }

  @Override
  public String toString() {
    return "Netty " + channel;
  }

  private final class Handler extends ChannelInboundHandlerAdapter {
    @Override
    public void channelActive(ChannelHandlerContext context) {
      channel = context.channel();
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      ByteBuf in = (ByteBuf) message;
      if (rest != null) {
        in = rest.writeBytes(in);
        ((ByteBuf) message).release();
        rest = null;
      }
      try {
        deliver(in);
      } catch (IOException e) {
        failure = e;
      }
      if (in.isReadable()) {
        rest = in.discardReadBytes();
      } else {
        in.release();
      }
    }

    private void deliver(ByteBuf in) throws IOException {
      while (in.readableBytes() >= LENGTH_BYTES) {
        int at = in.readerIndex() + LENGTH_BYTES;
        int lengthBytes = in.getIntLE(in.readerIndex());
        if (in.writerIndex() - at < lengthBytes) {
          break;
        }
        long touch = 0;
        for (int i = LINE_BYTES; i + Long.BYTES <= lengthBytes; i += LINE_BYTES) {
          touch += in.getLongLE(at + i);
        }
        in.readerIndex(at + lengthBytes);
        delivered++;
        received(in.getLongLE(at), in.getLongLE(at + 8), lengthBytes, touch);
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      failure = new EOFException("the peer has closed the connection");
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      failure = new IOException("Netty: " + cause, cause);
    }
  }
}
