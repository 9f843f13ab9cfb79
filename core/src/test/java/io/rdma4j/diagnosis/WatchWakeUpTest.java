package io.rdma4j.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.PortCounters;
import io.rdma4j.status.EventJournal;
import io.rdma4j.status.EventKind;
import io.rdma4j.status.EventSubject;
import io.rdma4j.status.Incident;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is between a fault and a listener: wake-ups, and nothing that may take long. */
@Timeout(value = 180, unit = TimeUnit.SECONDS)
final class WatchWakeUpTest {
  private static final EventSubject SUBJECT =
      EventSubject.queuePair("mlx5_0", 1, 7).of(1, "192.0.2.7:7400");

  private final EventJournal journal = EventJournal.inMemory();
  private final BlockingQueue<Incident> heard = new LinkedBlockingQueue<>();
  private final Device device = new Device();
  private @Nullable Watch watch;

  /** Answers, unless it is told to hang. */
  private static final class Device implements HostSource {
    private volatile CountDownLatch answers = new CountDownLatch(0);
    private final BlockingQueue<Thread> asking = new LinkedBlockingQueue<>();

    @Override
    public List<PortCounters> counters() {
      asking.add(Thread.currentThread());
      try {
        answers.await();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
      return List.of();
    }

    @Override
    public @Nullable HostReport report() {
      return null;
    }
  }

  /** Sleeps until somebody wakes the thread, however short the sleep should be. */
  private static void sleepUntilWoken(long ignoredNs) {
    LockSupport.park();
  }

  private Watch start(LongConsumer sleep) {
    Watch started = new Watch(journal, facts -> {}, NanoClock.SYSTEM, device, sleep);
    watch = started;
    journal.listen(heard::add);
    started.start("watch-under-test");
    return started;
  }

  @AfterEach
  void close() {
    device.answers.countDown();
    if (watch != null) {
      watch.close();
    }
  }

  private Incident nextHeard() throws InterruptedException {
    Incident incident = heard.poll(60, TimeUnit.SECONDS);
    assertTrue(incident != null, "a listener has not heard within 60 s");
    return incident;
  }

  /**
   * The watch sleeps for ever unless it is woken, so each of these incidents reached the listener
   * by wake-ups alone: that of the event, then that of the reading. The listener's queue makes the
   * watch wait for a lock at times, which must not swallow one.
   */
  @Test
  void noPeriodIsBetweenAFaultAndAListener() throws InterruptedException {
    start(WatchWakeUpTest::sleepUntilWoken);
    for (int i = 1; i <= 200; i++) {
      EventSubject subject = EventSubject.queuePair("mlx5_" + i, 1, i).of(i, "192.0.2.7:7400");
      journal.emit(EventKind.QP_ACCESS_ERR, subject, "fault " + i);
      Incident incident;
      do {
        incident = nextHeard();
      } while (incident.trigger().subject().connection() != i);
      assertEquals(1, incident.revision());
    }
  }

  /** A reading of counters hangs until the listener has heard. */
  @Test
  void aDeviceThatDoesNotAnswerDelaysNoListener() throws InterruptedException {
    device.answers = new CountDownLatch(1);
    start(LockSupport::parkNanos);
    assertTrue(device.asking.poll(60, TimeUnit.SECONDS) != null, "counters are being read");
    journal.emit(EventKind.DEVICE_FATAL, EventSubject.device("mlx5_0", 0), "");
    Incident incident = nextHeard();
    assertEquals(EventKind.DEVICE_FATAL, incident.trigger().kind());
    assertEquals("device-failed", incident.cause().orElseThrow().id());
    assertEquals(1, device.answers.getCount(), "the device still hangs");
  }

  @Test
  void aDeviceThatDoesNotAnswerDelaysNoPeer() throws InterruptedException {
    device.answers = new CountDownLatch(1);
    Watch started = start(LockSupport::parkNanos);
    journal.emit(EventKind.QP_FATAL, SUBJECT, "");
    BlockingQueue<String> told = new LinkedBlockingQueue<>();
    started.digest(SUBJECT, told::add);
    String digest = told.poll(60, TimeUnit.SECONDS);
    assertTrue(digest != null && digest.contains("event.qp_fatal=1"), "told the peer: " + digest);
    assertEquals(1, device.answers.getCount(), "the device still hangs");
  }

  @Test
  void readingIsLeftToAThreadOfItsOwn() throws InterruptedException {
    start(LockSupport::parkNanos);
    Thread reading = device.asking.poll(60, TimeUnit.SECONDS);
    assertTrue(reading != null && reading.getName().equals("watch-under-test-reader"));
  }
}
