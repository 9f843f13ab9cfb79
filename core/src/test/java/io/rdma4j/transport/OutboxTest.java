package io.rdma4j.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayDeque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

final class OutboxTest {
  private record Small(int type, long correlationId, int value) {}

  @Test
  void keepsOrderAroundItsEndAndWhileItGrows() {
    long seed = Long.getLong("seed", System.nanoTime());
    SplittableRandom random = new SplittableRandom(seed);
    Outbox outbox = new Outbox();
    ArrayDeque<Small> expected = new ArrayDeque<>();
    for (int i = 0; i < 20_000; i++) {
      int bias = i % 4000 < 2000 ? 60 : 40;
      if (random.nextInt(100) < bias) {
        Small next = new Small(random.nextInt(256), random.nextLong(), random.nextInt());
        outbox.add(next.type, next.correlationId, next.value);
        expected.add(next);
      } else if (!expected.isEmpty()) {
        Small got = new Small(outbox.type(), outbox.correlationId(), outbox.value());
        assertEquals(expected.remove(), got, "seed " + seed);
        outbox.remove();
      }
      assertEquals(expected.isEmpty(), outbox.isEmpty(), "seed " + seed);
    }
    while (!expected.isEmpty()) {
      assertEquals(expected.remove().value, outbox.value(), "seed " + seed);
      outbox.remove();
    }
    assertTrue(outbox.isEmpty());
  }
}
