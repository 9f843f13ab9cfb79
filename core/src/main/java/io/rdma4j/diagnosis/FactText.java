package io.rdma4j.diagnosis;

import static io.rdma4j.diagnosis.Facts.PEER;

/** Names of facts in words, for people. */
final class FactText {
  private FactText() {}

  static String of(String fact) {
    if (fact.equals(Facts.PEER_KNOWN)) {
      return "the peer's account";
    }
    if (fact.startsWith(PEER)) {
      return "peer: " + of(fact.substring(PEER.length()));
    }
    int dot = fact.indexOf('.');
    String space = dot < 0 ? fact : fact.substring(0, dot);
    String name = fact.substring(dot + 1);
    return switch (space) {
      case "event" -> "events " + name;
      case "completion" -> "completions " + name.toUpperCase(java.util.Locale.ROOT);
      case "counter" -> "counter " + name;
      case "vendor" -> "vendor error";
      default -> name.replace('_', ' ');
    };
  }
}
