package io.rdma4j.testkit.verbs;

import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;

/** The registrar of a domain whose queue pairs a test posts to; rights are numbered alike. */
record DomainRegistrar(ProtectionDomain domain) implements MemoryRegistrar {
  @Override
  public String name() {
    return domain.device().name();
  }

  @Override
  public Registration register(long address, long lengthBytes) {
    throw new UnsupportedOperationException("say with which rights");
  }

  @Override
  public Registration register(long address, long lengthBytes, int access) {
    return new Region(domain.registerMemory(address, lengthBytes, access));
  }

  private record Region(MemoryRegion region) implements Registration {
    @Override
    public int lkey() {
      return region.lkey();
    }

    @Override
    public int rkey() {
      return region.rkey();
    }

    @Override
    public void close() {
      region.close();
    }

    @Override
    public boolean isDeregistered() {
      return region.isDeregistered();
    }

    @Override
    public void revoke() {
      region.revoke();
    }
  }
}
