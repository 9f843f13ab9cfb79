package io.rdma4j.bench.register;

import io.rdma4j.bench.natives.Linux;
import io.rdma4j.provider.MemoryRegistrar.Registration;
import java.util.ArrayList;
import java.util.List;

/** A mapping and the registrations in it, given back together. Safe for use by several threads. */
final class RawRange implements Preparation.Prepared {
  /** Size and alignment of a transparent huge page on x86-64 and on aarch64 with 4 KiB pages. */
  static final long HUGE_PAGE_BYTES = 2L << 20;

  private final long mappedAddress;
  private final long mappedBytes;
  private final long lengthBytes;
  private final List<Registration> registrations = new ArrayList<>();

  private RawRange(long mappedAddress, long mappedBytes, long lengthBytes) {
    this.mappedAddress = mappedAddress;
    this.mappedBytes = mappedBytes;
    this.lengthBytes = lengthBytes;
  }

  /** Maps memory that starts at a huge page and is not there yet. */
  static RawRange map(long lengthBytes, int pageAdvice) {
    long mappedBytes = lengthBytes + HUGE_PAGE_BYTES;
    RawRange range = new RawRange(Linux.mmap(mappedBytes), mappedBytes, lengthBytes);
    try {
      Linux.madvise(range.address(), lengthBytes, pageAdvice);
      return range;
    } catch (RuntimeException e) {
      range.close();
      throw e;
    }
  }

  long address() {
    return (mappedAddress + HUGE_PAGE_BYTES - 1) & -HUGE_PAGE_BYTES;
  }

  long lengthBytes() {
    return lengthBytes;
  }

  synchronized void add(Registration registration) {
    registrations.add(registration);
  }

  @Override
  public synchronized void close() {
    registrations.forEach(Registration::close);
    registrations.clear();
    Linux.munmap(mappedAddress, mappedBytes);
  }
}
