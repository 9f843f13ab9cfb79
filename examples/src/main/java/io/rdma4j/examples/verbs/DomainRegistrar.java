package io.rdma4j.examples.verbs;

import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;

/** Registers the pool's memory in a protection domain that the program has made itself. */
record DomainRegistrar(ProtectionDomain domain) implements MemoryRegistrar {
  @Override
  public String name() {
    return domain.device().name();
  }

  @Override
  public Registration register(long address, long lengthBytes) {
    return new Region(domain.registerMemory(address, lengthBytes, Access.LOCAL_WRITE));
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
