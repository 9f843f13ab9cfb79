package io.rdma4j.transport;

import io.rdma4j.Availability;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.Provider;
import io.rdma4j.provider.ReceiveMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A provider whose endpoints break one of their promises now and then, on purpose. */
final class DefectiveProvider implements Provider {
  /** Promises that can be broken. */
  enum Defect {
    DROPS_MESSAGES,
    REPEATS_MESSAGES,
    KEEPS_TOKENS,
    REPEATS_TOKENS,
    NEVER_CLOSES
  }

  private static final int EVERY = 15;

  private final Provider provider;
  private final Defect defect;
  private int untilNext = EVERY;

  DefectiveProvider(Provider provider, Defect defect) {
    this.provider = provider;
    this.defect = defect;
  }

  private boolean strikes(Defect asked) {
    if (asked != defect || --untilNext > 0) {
      return false;
    }
    untilNext = EVERY;
    return true;
  }

  @Override
  public String name() {
    return provider.name();
  }

  @Override
  public Availability availability() {
    return provider.availability();
  }

  @Override
  public List<MemoryRegistrar> registrars() {
    return provider.registrars();
  }

  @Override
  public void receiveInto(ReceiveMemory memory) {
    provider.receiveInto(memory);
  }

  @Override
  public byte[] offer() {
    return provider.offer();
  }

  @Override
  public Availability judge(byte[] peerOffer) {
    return provider.judge(peerOffer);
  }

  @Override
  public Endpoint initiate(Handshake handshake, EndpointConfig config) throws IOException {
    return new DefectiveEndpoint(provider.initiate(handshake, config));
  }

  @Override
  public Endpoint accept(Handshake handshake, EndpointConfig config) throws IOException {
    return new DefectiveEndpoint(provider.accept(handshake, config));
  }

  @Override
  public void close() {
    if (defect != Defect.NEVER_CLOSES) {
      provider.close();
    }
  }

  private final class DefectiveEndpoint implements Endpoint {
    private final Endpoint endpoint;

    private DefectiveEndpoint(Endpoint endpoint) {
      this.endpoint = endpoint;
    }

    @Override
    public long takeMessage() {
      return endpoint.takeMessage();
    }

    @Override
    public String description() {
      return endpoint.description();
    }

    @Override
    public String device() {
      return endpoint.device();
    }

    @Override
    public @Nullable MemoryRegistrar registrar() {
      return endpoint.registrar();
    }

    @Override
    public int maxMessageBytes() {
      return endpoint.maxMessageBytes();
    }

    @Override
    public long send(
        int type, long correlationId, MemorySegment source, long offset, int lengthBytes) {
      return endpoint.send(type, correlationId, source, offset, lengthBytes);
    }

    @Override
    public long sendRegistered(
        int type,
        long correlationId,
        MemorySegment source,
        long offset,
        int lengthBytes,
        int lkey,
        long token) {
      return endpoint.sendRegistered(type, correlationId, source, offset, lengthBytes, lkey, token);
    }

    @Override
    public void flush() {
      endpoint.flush();
    }

    @Override
    public boolean isFlushed() {
      return endpoint.isFlushed();
    }

    @Override
    public int poll(EndpointListener listener, int messageLimit) {
      return endpoint.poll(defective(listener), messageLimit);
    }

    @Override
    public void housekeep(long nowNs) {
      endpoint.housekeep(nowNs);
    }

    @Override
    public void close(EndpointListener listener) {
      endpoint.close(defective(listener));
    }

    private EndpointListener defective(EndpointListener listener) {
      return new EndpointListener() {
        @Override
        public void onMessage(
            int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
          boolean application = type <= MessageType.REPLY;
          if (application && strikes(Defect.DROPS_MESSAGES)) {
            return;
          }
          listener.onMessage(type, correlationId, memory, offset, lengthBytes);
          if (application && strikes(Defect.REPEATS_MESSAGES)) {
            listener.onMessage(type, correlationId, memory, offset, lengthBytes);
          }
        }

        @Override
        public void onBatchEnd() {
          listener.onBatchEnd();
        }

        @Override
        public void onSent(long token) {
          if (strikes(Defect.KEEPS_TOKENS)) {
            return;
          }
          listener.onSent(token);
          if (strikes(Defect.REPEATS_TOKENS)) {
            listener.onSent(token);
          }
        }

        @Override
        public void onFailure(EndpointFailure cause) {
          listener.onFailure(cause);
        }
      };
    }
  }
}
