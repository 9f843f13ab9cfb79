package io.rdma4j.bench.register;

import io.rdma4j.bench.natives.Linux;
import io.rdma4j.provider.MemoryRegistrar;

/**
 * The plain way: a mapping of ordinary pages, nothing in it touched, and one registration of all of
 * it, which brings in page after page.
 */
final class PlainPreparation implements Preparation {
  @Override
  public String name() {
    return "plain";
  }

  @Override
  public Prepared prepare(long lengthBytes, MemoryRegistrar registrar, Runnable firstReady) {
    RawRange range = RawRange.map(lengthBytes, Linux.MADV_NOHUGEPAGE);
    try {
      range.add(registrar.register(range.address(), lengthBytes));
      firstReady.run();
      return range;
    } catch (RuntimeException e) {
      range.close();
      throw e;
    }
  }
}
