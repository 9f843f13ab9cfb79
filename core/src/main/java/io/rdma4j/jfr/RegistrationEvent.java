package io.rdma4j.jfr;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;
import org.jspecify.annotations.Nullable;

/** A device registered memory, or refused to. */
@Name("rdma4j.Registration")
@Label("Memory Registration")
@Category("RDMA")
@Description("A device registered memory, or refused to")
@StackTrace(false)
@SuppressWarnings("UnusedVariable") // the flight recorder reads them
public final class RegistrationEvent extends Event {
  private static final RegistrationEvent FLAG = new RegistrationEvent();

  @Label("Device")
  private String device = "";

  @Label("Length")
  @DataAmount
  private long lengthBytes;

  @Label("Succeeded")
  private boolean succeeded;

  private RegistrationEvent() {}

  /** Starts the clock; null while nobody asks for such events. */
  public static @Nullable RegistrationEvent start() {
    if (!FLAG.isEnabled()) {
      return null;
    }
    RegistrationEvent event = new RegistrationEvent();
    event.begin();
    return event;
  }

  /** Records what was started. */
  public static void end(
      @Nullable RegistrationEvent event, String device, long lengthBytes, boolean succeeded) {
    if (event == null) {
      return;
    }
    event.device = device;
    event.lengthBytes = lengthBytes;
    event.succeeded = succeeded;
    event.commit();
  }
}
