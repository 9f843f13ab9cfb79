package io.rdma4j.diagnosis;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.concurrent.Threads;
import io.rdma4j.host.HostReport;
import io.rdma4j.host.PortCounters;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Reads the machine on a thread of its own. A file of sysfs may ask the firmware of a device, which
 * one that has failed answers late or never; who waits for an incident shall not wait for that.
 *
 * <p>One thread requests and takes. Before {@link #start} a request is a reading on that thread.
 */
final class HostReader implements AutoCloseable {
  private static final Logger LOG = System.getLogger(HostReader.class.getName());

  /** Settings change when somebody changes them, or a port has come back. */
  private static final long KEEP_SETTINGS_NS = 30_000_000_000L;

  /**
   * The kernel fills, or empties, the tables of a port a while after its state has changed; and
   * what there is to tell of that goes first, since the tables have up to a thousand files.
   */
  private static final long SETTLED_NS = 2_000_000_000L;

  private static final long CLOSE_TIMEOUT_NS = 1_000_000_000L;

  /**
   * What was read.
   *
   * @param monotonicNs when the reading began
   * @param wallNs the same since 1970
   * @param ports counters of all ports
   * @param settings of devices and process; null where there is no port, or they can not be read
   */
  record Reading(
      long monotonicNs, long wallNs, List<PortCounters> ports, @Nullable HostReport settings) {}

  private final HostSource source;
  private final NanoClock clock;
  private final AtomicReference<@Nullable Reading> latest = new AtomicReference<>();
  private @Nullable Thread thread;
  private volatile boolean running = true;
  private volatile boolean requested;

  /** Guarded by this. */
  private long settingsDueNs;

  // The reading thread alone.
  private @Nullable HostReport settings;

  HostReader(HostSource source, NanoClock clock) {
    this.source = source;
    this.clock = clock;
  }

  /**
   * Starts the thread.
   *
   * @param whenRead called on it behind each reading
   */
  void start(String threadName, Runnable whenRead) {
    thread = Thread.ofPlatform().name(threadName).daemon(true).start(() -> run(whenRead));
  }

  private void run(Runnable whenRead) {
    while (running) {
      if (!requested) {
        LockSupport.park(this);
        continue;
      }
      requested = false;
      try {
        read();
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "counters could not be read; the next attempt is in a second", e);
      }
      whenRead.run();
    }
  }

  private void read() {
    long nowNs = clock.nanoTime();
    Instant now = Instant.now();
    long wallNs = now.getEpochSecond() * 1_000_000_000L + now.getNano();
    List<PortCounters> ports = source.counters();
    if (ports.isEmpty()) {
      settings = null;
    } else if (settingsAreDue(nowNs)) {
      settings = source.report();
    }
    latest.set(new Reading(nowNs, wallNs, List.copyOf(ports), settings));
  }

  /** Asks for a reading. */
  void request() {
    Thread reading = thread;
    if (reading == null) {
      read();
    } else {
      requested = true;
      LockSupport.unpark(reading);
    }
  }

  /** Has settings read anew in a while: a port has changed, and so will its tables. */
  synchronized void outdateSettings() {
    long atNs = clock.nanoTime() + SETTLED_NS;
    if (settingsDueNs - atNs > 0) {
      settingsDueNs = atNs;
    }
  }

  /** Returns whether they are to be read; the next time is then far. */
  private synchronized boolean settingsAreDue(long nowNs) {
    if (settings != null && nowNs - settingsDueNs < 0) {
      return false;
    }
    settingsDueNs = nowNs + KEEP_SETTINGS_NS;
    return true;
  }

  /** Returns the latest reading, once. */
  @Nullable Reading take() {
    return latest.getAndSet(null);
  }

  /** Ends the thread, or leaves it to a device that does not answer. */
  @Override
  public void close() {
    running = false;
    Thread reading = thread;
    if (reading != null) {
      LockSupport.unpark(reading);
      if (!Threads.join(reading, CLOSE_TIMEOUT_NS)) {
        LOG.log(Level.WARNING, "a device does not answer; the thread that reads it is left to it");
      }
    }
  }
}
