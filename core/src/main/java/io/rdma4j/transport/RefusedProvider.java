package io.rdma4j.transport;

import io.rdma4j.Availability;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.Handshake;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.Provider;
import java.io.IOException;
import java.util.List;

/** A provider whose device refused the pool's memory: it stays visible with that reason. */
final class RefusedProvider implements Provider {
  private final Provider refused;
  private final Availability availability;

  RefusedProvider(Provider refused, RuntimeException refusal) {
    this.refused = refused;
    this.availability = Availability.unusable(String.valueOf(refusal.getMessage()));
  }

  @Override
  public String name() {
    return refused.name();
  }

  @Override
  public Availability availability() {
    return availability;
  }

  @Override
  public List<MemoryRegistrar> registrars() {
    return List.of();
  }

  @Override
  public byte[] offer() {
    return new byte[0];
  }

  @Override
  public Availability judge(byte[] peerOffer) {
    return availability;
  }

  @Override
  public Endpoint initiate(Handshake handshake, EndpointConfig config) throws IOException {
    throw new IOException(availability.reason());
  }

  @Override
  public Endpoint accept(Handshake handshake, EndpointConfig config) throws IOException {
    throw new IOException(availability.reason());
  }

  @Override
  public void housekeep(long nowNs) {
    refused.housekeep(nowNs);
  }

  @Override
  public void close() {
    refused.close();
  }
}
