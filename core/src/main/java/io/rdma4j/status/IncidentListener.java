package io.rdma4j.status;

/**
 * Hears of incidents.
 *
 * <p>Called on a thread that does nothing else for the node than watch, one call at a time; what
 * takes long delays the next call and nothing else. An exception is logged and counted, and changes
 * nothing for others.
 */
@FunctionalInterface
public interface IncidentListener {
  /**
   * An incident was opened, or more is known of one: events joined, a cause was found, a peer told
   * what it saw, it was closed. The {@link Incident#revision} counts the calls for one incident.
   */
  void onIncident(Incident incident);
}
