package io.rdma4j.diagnosis;

import java.util.Collections;
import java.util.List;
import java.util.NavigableMap;
import java.util.OptionalDouble;
import java.util.TreeMap;

/**
 * What is known of an incident: numbers by name. What is not here is unknown, and not zero.
 *
 * <pre>
 *  event.NAME        how often an event came, by its {@link io.rdma4j.status.EventKind}; 0 when it did not
 *  completion.NAME   how often a request failed with a status, as in IBV_WC_NAME; 0 when none did
 *  vendor            the device's own code of the first failed request
 *  counter.NAME      increase of a {@link io.rdma4j.host.CounterSignal} over the window
 *  config.NAME       a setting or a property of machine, device or port
 *  app.NAME          a measurement of this process
 *  peer.NAME         any of these, as the peer saw it; peer.known is 1 when it told anything
 * </pre>
 *
 * <p>Immutable.
 */
public final class Facts {
  /** Facts that are complete: what is not among them did not happen. */
  private static final List<String> COMPLETE = List.of("event.", "completion.");

  static final String PEER = "peer.";

  /** Says whether the peer told anything. */
  static final String PEER_KNOWN = "peer.known";

  private final NavigableMap<String, Double> values;

  private Facts(NavigableMap<String, Double> values) {
    this.values = values;
  }

  /** Returns what is known of a fact. */
  public OptionalDouble value(String name) {
    Double value = values.get(name);
    if (value != null) {
      return OptionalDouble.of(value);
    }
    if (name.equals(PEER_KNOWN)) {
      return OptionalDouble.of(0);
    }
    boolean ofPeer = name.startsWith(PEER);
    String own = ofPeer ? name.substring(PEER.length()) : name;
    boolean complete = !ofPeer || values.containsKey(PEER_KNOWN);
    return complete && COMPLETE.stream().anyMatch(own::startsWith)
        ? OptionalDouble.of(0)
        : OptionalDouble.empty();
  }

  /** Returns all facts that are known, by name. */
  public NavigableMap<String, Double> values() {
    return values;
  }

  @Override
  public String toString() {
    return values.toString();
  }

  /** Collects facts. Not thread-safe. */
  public static final class Builder {
    private final TreeMap<String, Double> values = new TreeMap<>();

    /** Starts with nothing known. */
    public Builder() {}

    /** Sets a fact. */
    public Builder set(String name, double value) {
      values.put(name, value);
      return this;
    }

    /** Adds to a fact, which is zero before. */
    public Builder add(String name, double amount) {
      values.merge(name, amount, Double::sum);
      return this;
    }

    /** Sets what the peer says of itself; facts that it has from others are left out. */
    public Builder peer(NavigableMap<String, Double> told) {
      values.put(PEER_KNOWN, 1.0);
      told.forEach(
          (name, value) -> {
            if (!name.startsWith(PEER)) {
              values.put(PEER + name, value);
            }
          });
      return this;
    }

    /** Returns the facts. */
    public Facts build() {
      return new Facts(Collections.unmodifiableNavigableMap(new TreeMap<>(values)));
    }
  }
}
