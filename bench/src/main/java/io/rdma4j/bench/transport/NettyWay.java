package io.rdma4j.bench.transport;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ManualIoEventLoop;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.rdma4j.Availability;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.function.BooleanSupplier;

/**
 * Netty's epoll transport over loopback TCP. The event loop is a manual one, run by the measured
 * thread without waiting: so it spins as the others do, and needs no hand-over between threads.
 */
record NettyWay() implements Way {
  private static final long TIMEOUT_NS = 20_000_000_000L;

  @Override
  public String name() {
    return "netty";
  }

  @Override
  public String description() {
    return "Netty epoll over loopback TCP, event loop on the measured thread, spinning";
  }

  @Override
  public Availability availability() {
    Throwable cause = Epoll.unavailabilityCause();
    return cause == null
        ? Availability.usable("Netty epoll")
        : Availability.unusable("Netty has no epoll here: " + cause.getMessage());
  }

  private static ManualIoEventLoop loop() {
    return new ManualIoEventLoop(Thread.currentThread(), EpollIoHandler.newFactory());
  }

  private static void runUntil(ManualIoEventLoop loop, BooleanSupplier condition)
      throws IOException {
    long endNs = System.nanoTime() + TIMEOUT_NS;
    while (!condition.getAsBoolean()) {
      loop.runNow();
      if (System.nanoTime() - endNs > 0) {
        throw new IOException("Netty's other end is not there after 20 s");
      }
    }
  }

  @Override
  public Acceptor listen() throws IOException {
    ManualIoEventLoop loop = loop();
    NettyLink link = new NettyLink(loop);
    ChannelFuture bound =
        new ServerBootstrap()
            .group(loop, loop)
            .channel(EpollServerSocketChannel.class)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childHandler(initializer(link))
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    runUntil(loop, bound::isDone);
    InetSocketAddress at = (InetSocketAddress) bound.syncUninterruptibly().channel().localAddress();
    return new Acceptor() {
      @Override
      public String address() {
        return Integer.toString(at.getPort());
      }

      @Override
      public Link accept() throws IOException {
        runUntil(loop, link::isConnected);
        runUntil(loop, bound.channel().close()::isDone);
        return link;
      }

      @Override
      public void close() {
        link.close();
      }
    };
  }

  @Override
  public Link connect(String address) throws IOException {
    ManualIoEventLoop loop = loop();
    NettyLink link = new NettyLink(loop);
    ChannelFuture connected =
        new Bootstrap()
            .group(loop)
            .channel(EpollSocketChannel.class)
            .option(ChannelOption.TCP_NODELAY, true)
            .handler(initializer(link))
            .connect(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), Integer.parseInt(address)));
    runUntil(loop, connected::isDone);
    connected.syncUninterruptibly();
    runUntil(loop, link::isConnected);
    return link;
  }

  private static ChannelInitializer<Channel> initializer(NettyLink link) {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel channel) {
        channel.pipeline().addLast(link.handler());
      }
    };
  }
}
