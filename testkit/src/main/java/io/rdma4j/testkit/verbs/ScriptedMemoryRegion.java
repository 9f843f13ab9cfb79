package io.rdma4j.testkit.verbs;

import io.rdma4j.verbs.MemoryRegion;

/** A registration of a scripted device. */
final class ScriptedMemoryRegion extends MemoryRegion {
  final ScriptedProtectionDomain domain;
  final long iova;
  final int access;

  /** Generation of the mapping at the time of the registration, 0 when none was declared. */
  final int generation;

  ScriptedMemoryRegion(
      ScriptedProtectionDomain domain,
      long address,
      long lengthBytes,
      long iova,
      int access,
      int key,
      int generation) {
    super(address, lengthBytes, key, key);
    this.domain = domain;
    this.iova = iova;
    this.access = access;
    this.generation = generation;
  }

  @Override
  protected void deregister() {
    domain.forget(this);
  }
}
