package io.rdma4j.status;

import static io.rdma4j.status.JsonText.quote;

import java.util.List;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.function.Function;

/**
 * Events and incidents as JSON (RFC 8259), one on a line.
 *
 * <pre>
 * {"sequence":7,"timeNs":1764430000000000000,"kind":"port_err","severity":"error",
 *  "subject":{"device":"mlx5_0","port":1,"queuePair":0,"connection":0,"peer":""},
 *  "code":10,"vendorError":0,"value":0,"text":"..."}
 *
 * {"id":7,"revision":3,"state":"closed","openedNs":...,"updatedNs":...,"headline":"...",
 *  "subject":{...},"connections":[3],"events":[...],"moreEvents":0,"flushedRequests":31,
 *  "causes":[{"id":"...","title":"...","confidence":"likely","evidence":["..."],
 *             "missing":["..."],"inseparableFrom":["..."],"nextStep":"..."}],
 *  "counters":[{"device":"mlx5_0","port":1,"fromNs":...,"toNs":...,
 *               "increases":{"hw_counters/out_of_sequence":20},"unmoved":40,
 *               "unreadable":[],"cleared":false}]}
 * </pre>
 *
 * <p>Nanoseconds since the epoch need all 64 bits.
 */
public final class JournalJson {
  private JournalJson() {}

  /** Returns an event as an object. */
  public static String of(Event event) {
    return new StringJoiner(",", "{", "}")
        .add("\"sequence\":" + event.sequence())
        .add("\"timeNs\":" + event.timeNs())
        .add("\"kind\":" + word(event.kind()))
        .add("\"severity\":" + word(event.kind().severity()))
        .add("\"subject\":" + of(event.subject()))
        .add("\"code\":" + event.code())
        .add("\"vendorError\":" + event.vendorError())
        .add("\"value\":" + event.value())
        .add("\"text\":" + quote(event.text()))
        .toString();
  }

  /** Returns an incident as an object, with its events. */
  public static String of(Incident incident) {
    return new StringJoiner(",", "{", "}")
        .add("\"id\":" + incident.id())
        .add("\"revision\":" + incident.revision())
        .add("\"state\":" + word(incident.state()))
        .add("\"openedNs\":" + incident.openedNs())
        .add("\"updatedNs\":" + incident.updatedNs())
        .add("\"headline\":" + quote(incident.headline()))
        .add("\"subject\":" + of(incident.subject()))
        .add("\"connections\":" + incident.connections())
        .add("\"events\":" + list(incident.events(), JournalJson::of))
        .add("\"moreEvents\":" + incident.moreEvents())
        .add("\"flushedRequests\":" + incident.flushedRequests())
        .add("\"causes\":" + list(incident.causes(), JournalJson::of))
        .add("\"counters\":" + list(incident.counters(), JournalJson::of))
        .toString();
  }

  /** Returns events as an array, one on a line. */
  public static String events(List<Event> events) {
    return lines(events, JournalJson::of);
  }

  /** Returns incidents as an array, one on a line. */
  public static String incidents(List<Incident> incidents) {
    return lines(incidents, JournalJson::of);
  }

  private static String of(EventSubject subject) {
    return new StringJoiner(",", "{", "}")
        .add("\"device\":" + quote(subject.device()))
        .add("\"port\":" + subject.port())
        .add("\"queuePair\":" + Integer.toUnsignedString(subject.queuePair()))
        .add("\"connection\":" + subject.connection())
        .add("\"peer\":" + quote(subject.peer()))
        .toString();
  }

  private static String of(Cause cause) {
    return new StringJoiner(",", "{", "}")
        .add("\"id\":" + quote(cause.id()))
        .add("\"title\":" + quote(cause.title()))
        .add("\"confidence\":" + word(cause.confidence()))
        .add("\"evidence\":" + list(cause.evidence(), JsonText::quote))
        .add("\"missing\":" + list(cause.missing(), JsonText::quote))
        .add("\"inseparableFrom\":" + list(cause.inseparableFrom(), JsonText::quote))
        .add("\"nextStep\":" + quote(cause.nextStep()))
        .toString();
  }

  private static String of(CounterWindow window) {
    StringJoiner increases = new StringJoiner(",", "{", "}");
    window.increases().forEach((name, by) -> increases.add(quote(name) + ":" + by));
    return new StringJoiner(",", "{", "}")
        .add("\"device\":" + quote(window.device()))
        .add("\"port\":" + window.port())
        .add("\"fromNs\":" + window.fromNs())
        .add("\"toNs\":" + window.toNs())
        .add("\"increases\":" + increases)
        .add("\"unmoved\":" + window.unmoved())
        .add("\"unreadable\":" + list(window.unreadable(), JsonText::quote))
        .add("\"cleared\":" + window.cleared())
        .toString();
  }

  private static <T> String list(List<T> list, Function<T, String> text) {
    StringJoiner items = new StringJoiner(",", "[", "]");
    list.forEach(item -> items.add(text.apply(item)));
    return items.toString();
  }

  private static <T> String lines(List<T> list, Function<T, String> text) {
    StringJoiner items = new StringJoiner(",\n", "[\n", "\n]");
    items.setEmptyValue("[]");
    list.forEach(item -> items.add(text.apply(item)));
    return items.toString();
  }

  private static String word(Enum<?> value) {
    return quote(value.name().toLowerCase(Locale.ROOT));
  }
}
