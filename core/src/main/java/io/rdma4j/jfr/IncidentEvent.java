package io.rdma4j.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A new picture of an incident. */
@Name("rdma4j.Incident")
@Label("Incident")
@Category("RDMA")
@Description("Events that belong together, with the most probable cause so far")
@StackTrace(false)
@SuppressWarnings("UnusedVariable") // the flight recorder reads them
public final class IncidentEvent extends Event {
  private static final IncidentEvent FLAG = new IncidentEvent();

  @Label("Incident Id")
  private long incidentId;

  @Label("Revision")
  private int revision;

  @Label("State")
  private String state = "";

  @Label("Cause")
  private String cause = "";

  @Label("Connections")
  private int connections;

  @Label("Flushed Requests")
  private long flushedRequests;

  @Label("Headline")
  private String headline = "";

  private IncidentEvent() {}

  /** Returns whether somebody asks for such events. */
  public static boolean isOn() {
    return FLAG.isEnabled();
  }

  /** Records a picture. */
  public static void record(
      long incidentId,
      int revision,
      String state,
      String cause,
      int connections,
      long flushedRequests,
      String headline) {
    IncidentEvent event = new IncidentEvent();
    event.incidentId = incidentId;
    event.revision = revision;
    event.state = state;
    event.cause = cause;
    event.connections = connections;
    event.flushedRequests = flushedRequests;
    event.headline = headline;
    event.commit();
  }
}
