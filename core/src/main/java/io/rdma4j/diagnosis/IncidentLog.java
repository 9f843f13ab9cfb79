package io.rdma4j.diagnosis;

import io.rdma4j.status.EventKind.Severity;
import io.rdma4j.status.Incident;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** One line for an incident, and in a storm no more than some of them. Watch thread only. */
final class IncidentLog {
  private static final Logger LOG = System.getLogger(Watch.class.getName());
  private static final long WINDOW_NS = 10_000_000_000L;
  private static final int MAX_LINES = 20;

  private long windowNs;
  private int lines;
  private long linesLeftOut;

  IncidentLog(long nowNs) {
    windowNs = nowNs;
  }

  void write(OpenIncident incident, Incident picture, long nowNs) {
    if (incident.logged) {
      return;
    }
    incident.logged = true;
    if (nowNs - windowNs >= WINDOW_NS) {
      if (linesLeftOut > 0) {
        LOG.log(Level.WARNING, linesLeftOut + " more incidents are in the journal");
      }
      windowNs = nowNs;
      lines = 0;
      linesLeftOut = 0;
    }
    lines++;
    if (lines > MAX_LINES) {
      linesLeftOut++;
      return;
    }
    Severity worst =
        picture.events().stream()
            .map(event -> event.kind().severity())
            .max(Severity::compareTo)
            .orElse(Severity.WARNING);
    LOG.log(worst == Severity.ERROR ? Level.ERROR : Level.WARNING, picture.headline());
  }
}
