package io.rdma4j.bench.transport;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import org.HdrHistogram.Histogram;

/** The loops over one link; copied for each ({@link LinkCopy}). */
final class LinkLoop implements Loop {
  private static final Link LINK = LinkCopy.link(MethodHandles.lookup());
  private static final long PATIENCE_NS = 20_000_000_000L;
  private static final int CLOCK_EVERY = 1 << 16;
  private static final int MAX_PACED = 1 << 16;

  private final long[] dueNs = new long[MAX_PACED];

  LinkLoop() {}

  @Override
  public long roundTrips(long count, int lengthBytes) throws IOException {
    long beganNs = System.nanoTime();
    for (long i = 0; i < count; i++) {
      roundTrip(lengthBytes);
    }
    return System.nanoTime() - beganNs;
  }

  @Override
  public void timedRoundTrips(long count, int lengthBytes, Histogram roundTripNs)
      throws IOException {
    long beganNs = System.nanoTime();
    for (long i = 0; i < count; i++) {
      roundTrip(lengthBytes);
      long endedNs = System.nanoTime();
      roundTripNs.recordValue(endedNs - beganNs);
      beganNs = endedNs;
    }
  }

  @Override
  public long reads(long count, int lengthBytes) throws IOException {
    long beganNs = System.nanoTime();
    for (long i = 0; i < count; i++) {
      LINK.read(lengthBytes);
    }
    return System.nanoTime() - beganNs;
  }

  @Override
  public void timedReads(long count, int lengthBytes, Histogram readNs) throws IOException {
    long beganNs = System.nanoTime();
    for (long i = 0; i < count; i++) {
      LINK.read(lengthBytes);
      long endedNs = System.nanoTime();
      readNs.recordValue(endedNs - beganNs);
      beganNs = endedNs;
    }
  }

  private static void roundTrip(int lengthBytes) throws IOException {
    long target = LINK.receivedCount() + 1;
    send(Link.ANSWER, lengthBytes);
    LINK.flush();
    await(target);
  }

  @Override
  public void pacedRoundTrips(long count, long intervalNs, int lengthBytes, Histogram responseNs)
      throws IOException {
    long base = LINK.receivedCount();
    long sent = 0;
    long seen = 0;
    long nextNs = System.nanoTime() + intervalNs;
    long progressNs = nextNs;
    while (seen < count) {
      long nowNs = System.nanoTime();
      if (sent < count && nowNs - nextNs >= 0 && sent - seen < MAX_PACED) {
        if (LINK.send(Link.ANSWER, lengthBytes)) {
          LINK.flush();
          dueNs[(int) sent & MAX_PACED - 1] = nextNs;
          nextNs += intervalNs;
          sent++;
        }
      }
      if (sent > seen && LINK.poll() > 0) {
        progressNs = System.nanoTime();
        for (long answered = LINK.receivedCount() - base; seen < answered; seen++) {
          responseNs.recordValue(progressNs - dueNs[(int) seen & MAX_PACED - 1]);
        }
      } else if (nowNs - progressNs > PATIENCE_NS) {
        throw stalled();
      }
    }
  }

  @Override
  public long stream(long count, int lengthBytes, int batch) throws IOException {
    long target = LINK.receivedCount() + 1;
    long beganNs = System.nanoTime();
    for (long left = count; left > 0; left -= batch) {
      long end = Math.max(0, left - batch);
      for (long i = left; i > end; i--) {
        send(i == 1 ? Link.ANSWER : Link.NO_FLAG, lengthBytes);
      }
      LINK.flush();
    }
    await(target);
    return System.nanoTime() - beganNs;
  }

  @Override
  public long transactions(long count, int lengthBytes, int window) throws IOException {
    long base = LINK.receivedCount();
    long sent = 0;
    long beganNs = System.nanoTime();
    long idle = 0;
    long idleSinceNs = beganNs;
    while (true) {
      long answered = LINK.receivedCount() - base;
      if (answered == count) {
        return System.nanoTime() - beganNs;
      }
      boolean any = false;
      while (sent < count && sent - answered < window && LINK.send(Link.ANSWER, lengthBytes)) {
        sent++;
        any = true;
      }
      if (any) {
        LINK.flush();
      }
      if (LINK.poll() > 0) {
        idle = 0;
      } else if (++idle % CLOCK_EVERY == 0) {
        idleSinceNs = idle == CLOCK_EVERY ? System.nanoTime() : idleSinceNs;
        requirePatience(idleSinceNs);
      }
    }
  }

  @Override
  public long larges(long count, int lengthBytes) throws IOException {
    long beganNs = System.nanoTime();
    for (long i = 0; i < count; i++) {
      if (LINK.carriesLarge()) {
        LINK.large(lengthBytes);
      } else {
        stream(lengthBytes / Link.MAX_MESSAGE_BYTES, Link.MAX_MESSAGE_BYTES, 1);
      }
    }
    return System.nanoTime() - beganNs;
  }

  @Override
  public void stop() throws IOException {
    send(Link.STOP, Link.HEADER_BYTES);
    LINK.finish();
  }

  private static void send(long flags, int lengthBytes) throws IOException {
    if (!LINK.send(flags, lengthBytes)) {
      sendWhenThereIsRoom(flags, lengthBytes);
    }
  }

  private static void sendWhenThereIsRoom(long flags, int lengthBytes) throws IOException {
    long sinceNs = System.nanoTime();
    for (long tries = 1; ; tries++) {
      LINK.flush();
      LINK.poll(); // credits come as messages
      if (LINK.send(flags, lengthBytes)) {
        return;
      }
      Thread.onSpinWait();
      if (tries % CLOCK_EVERY == 0) {
        requirePatience(sinceNs);
      }
    }
  }

  private static void await(long target) throws IOException {
    long sinceNs = 0;
    for (long polls = 1; LINK.receivedCount() < target; polls++) {
      if (LINK.poll() == 0) {
        Thread.onSpinWait();
      }
      if (polls % CLOCK_EVERY == 0) {
        sinceNs = polls == CLOCK_EVERY ? System.nanoTime() : sinceNs;
        requirePatience(sinceNs);
      }
    }
  }

  private static void requirePatience(long sinceNs) throws IOException {
    if (System.nanoTime() - sinceNs > PATIENCE_NS) {
      throw stalled();
    }
  }

  private static IOException stalled() {
    return new IOException(
        "no answer from the peer for " + PATIENCE_NS / 1_000_000_000L + " s over " + LINK);
  }
}
