package io.rdma4j.testkit.provider;

import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.Provider;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Two endpoints connected to each other through a real bootstrap socket, both in this process.
 *
 * <p>Owns the endpoints and the sockets.
 */
public final class EndpointPair implements AutoCloseable {
  private static final Duration HANDSHAKE_TIMEOUT = Duration.ofSeconds(10);

  private final End initiator;
  private final End acceptor;

  private EndpointPair(End initiator, End acceptor) {
    this.initiator = initiator;
    this.acceptor = acceptor;
  }

  /**
   * Connects two providers.
   *
   * @param address local address that carries the bootstrap connection
   * @throws IOException when either end fails; the other end's failure is suppressed in it
   */
  public static EndpointPair connect(
      Provider initiator, Provider acceptor, InetAddress address, EndpointConfig config)
      throws IOException {
    return connect(initiator::initiate, acceptor::accept, address, config, HANDSHAKE_TIMEOUT);
  }

  /** One end's part in setting up a pair. */
  public interface Setup {
    /** Makes the endpoint, as {@link Provider#initiate} and {@link Provider#accept} do. */
    Endpoint run(Handshake handshake, EndpointConfig config) throws IOException;
  }

  /** Connects with an initiator of the test's making and a deadline of its choice. */
  public static EndpointPair connect(
      Setup initiator,
      Provider acceptor,
      InetAddress address,
      EndpointConfig config,
      Duration timeout)
      throws IOException {
    return connect(initiator, acceptor::accept, address, config, timeout);
  }

  /** Connects with both ends of the test's making and a deadline of its choice. */
  public static EndpointPair connect(
      Setup initiator, Setup acceptor, InetAddress address, EndpointConfig config, Duration timeout)
      throws IOException {
    try (ServerSocketChannel server = ServerSocketChannel.open()) {
      server.bind(new InetSocketAddress(address, 0));
      var accepting =
          new FutureTask<>(
              () -> End.open(LoopbackHandshake.accept(server, timeout), acceptor, config));
      Thread.ofPlatform().name("acceptor").daemon().start(accepting);
      End initiated = null;
      IOException failure = null;
      try {
        var address1 = (InetSocketAddress) server.getLocalAddress();
        initiated = End.open(LoopbackHandshake.connect(address1, timeout), initiator, config);
      } catch (IOException e) {
        failure = e;
      }
      try {
        End accepted = await(accepting, timeout);
        if (initiated != null) {
          return new EndpointPair(initiated, accepted);
        }
        accepted.close(Inbox.IGNORE_TOKENS);
      } catch (IOException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
      if (initiated != null) {
        initiated.close(Inbox.IGNORE_TOKENS);
      }
      throw failure == null ? new IOException("one end failed without a reason") : failure;
    }
  }

  private static End await(FutureTask<End> accepting, Duration timeout) throws IOException {
    try {
      return accepting.get(2 * timeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException cause ? cause : new IOException(e.getCause());
    } catch (TimeoutException e) {
      throw new IOException("the acceptor did not heed the handshake deadline", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while the acceptor was busy", e);
    }
  }

  /** Returns the initiator's endpoint. */
  public Endpoint initiator() {
    return initiator.endpoint;
  }

  /** Returns the acceptor's endpoint. */
  public Endpoint acceptor() {
    return acceptor.endpoint;
  }

  /** Closes the initiator's endpoint, then its socket. */
  public void closeInitiator(EndpointListener listener) throws IOException {
    initiator.close(listener);
  }

  /** Closes the acceptor's endpoint, then its socket. */
  public void closeAcceptor(EndpointListener listener) throws IOException {
    acceptor.close(listener);
  }

  @Override
  public void close() throws IOException {
    initiator.close(Inbox.IGNORE_TOKENS);
    acceptor.close(Inbox.IGNORE_TOKENS);
  }

  private record End(Endpoint endpoint, LoopbackHandshake bootstrap) {
    static End open(LoopbackHandshake bootstrap, Setup setup, EndpointConfig config)
        throws IOException {
      try {
        return new End(setup.run(bootstrap, config), bootstrap);
      } catch (IOException | RuntimeException e) {
        try (bootstrap) {
          bootstrap.giveUp(String.valueOf(e.getMessage()));
        } catch (IOException tellingFailed) {
          e.addSuppressed(tellingFailed);
        }
        throw e;
      }
    }

    void close(EndpointListener listener) throws IOException {
      endpoint.close(listener);
      bootstrap.close();
    }
  }
}
