package io.rdma4j.transport;

import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;

/** A count for each constant of an enum. Any thread. */
final class EnumCounts<E extends Enum<E>> {
  private final Map<E, AtomicLong> counts;

  EnumCounts(Class<E> type) {
    counts = new EnumMap<>(type);
    for (E constant : Objects.requireNonNull(type.getEnumConstants())) {
      counts.put(constant, new AtomicLong());
    }
  }

  void increment(E constant) {
    count(constant).incrementAndGet();
  }

  long get(E constant) {
    return count(constant).get();
  }

  private AtomicLong count(E constant) {
    return Objects.requireNonNull(counts.get(constant));
  }
}
