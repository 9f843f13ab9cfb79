package io.rdma4j.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** An entry of the journal: connections that come and go, paths, peers, devices. */
@Name("rdma4j.Event")
@Label("RDMA Event")
@Category("RDMA")
@Description("An entry of the journal: connections that come and go, paths, peers, devices")
@StackTrace(false)
@SuppressWarnings("UnusedVariable") // the flight recorder reads them
public final class JournalEvent extends Event {
  private static final JournalEvent FLAG = new JournalEvent();

  @Label("Kind")
  private String kind = "";

  @Label("Severity")
  private String severity = "";

  @Label("Connection")
  private long connection;

  @Label("Peer")
  private String peer = "";

  @Label("Device")
  private String device = "";

  @Label("Port")
  private int port;

  @Label("Text")
  private String text = "";

  private JournalEvent() {}

  /** Returns whether somebody asks for such events. */
  public static boolean isOn() {
    return FLAG.isEnabled();
  }

  /** Records an entry. */
  public static void record(
      String kind,
      String severity,
      long connection,
      String peer,
      String device,
      int port,
      String text) {
    JournalEvent event = new JournalEvent();
    event.kind = kind;
    event.severity = severity;
    event.connection = connection;
    event.peer = peer;
    event.device = device;
    event.port = port;
    event.text = text;
    event.commit();
  }
}
