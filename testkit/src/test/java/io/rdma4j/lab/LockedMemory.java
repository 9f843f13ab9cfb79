package io.rdma4j.lab;

import io.rdma4j.VerbsException;
import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.Verbs;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Registers 512 KiB, then 2 MiB more, and prints the refusal of the second; run as a process with a
 * low locked-memory limit.
 */
final class LockedMemory {
  private static final long FIRST_BYTES = 512 * 1024;
  private static final long SECOND_BYTES = 2 * 1024 * 1024;

  private LockedMemory() {}

  /** Exits with 1 when nothing was refused. */
  public static void main(String[] args) {
    try (Device device = Verbs.system().open("rxe0");
        ProtectionDomain domain = device.allocateProtectionDomain();
        Arena arena = Arena.ofConfined()) {
      MemorySegment memory = arena.allocate(SECOND_BYTES, 4096);
      domain.registerMemory(memory.address(), FIRST_BYTES, Access.LOCAL_WRITE);
      domain.registerMemory(memory.address(), SECOND_BYTES, Access.LOCAL_WRITE);
    } catch (VerbsException e) {
      System.out.println(e.getMessage());
      return;
    }
    System.exit(1);
  }
}
