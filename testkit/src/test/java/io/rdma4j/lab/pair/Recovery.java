package io.rdma4j.lab.pair;

import java.util.List;
import java.util.Locale;

/**
 * How the connection came through a fault.
 *
 * @param paths the sender's, in order of preference
 * @param silenceNs longest time without an acknowledgement, from the fault's beginning on
 * @param recoveryNs from the fault's end until a message sent after it was acknowledged
 * @param returnNs from the fault's end until the first of the paths is in use
 * @param moves how often the connection took another path
 * @param connections new ones, of the application's making
 * @param messages acknowledged from the fault's beginning until the recovery
 * @param causes what the sender's incidents say
 */
record Recovery(
    String paths,
    Fault fault,
    long silenceNs,
    long recoveryNs,
    long returnNs,
    long moves,
    int connections,
    long messages,
    List<String> causes) {
  static String table(List<Recovery> recoveries) {
    StringBuilder text =
        new StringBuilder(
            String.format(
                Locale.ROOT,
                "%-10s %-28s %7s %11s %11s %11s %6s %12s %9s  %s%n",
                "paths",
                "fault",
                "lasts s",
                "silence s",
                "recovery s",
                "1st path s",
                "moves",
                "connections",
                "messages",
                "causes"));
    for (Recovery each : recoveries) {
      text.append(
          String.format(
              Locale.ROOT,
              "%-10s %-28s %7s %11.2f %11.2f %11.2f %6d %12d %9d  %s%n",
              each.paths,
              each.fault.words(),
              each.fault.seconds() == 0 ? "-" : Integer.toString(each.fault.seconds()),
              each.silenceNs / 1e9,
              each.recoveryNs / 1e9,
              each.returnNs / 1e9,
              each.moves,
              each.connections,
              each.messages,
              each.causes.isEmpty() ? "-" : String.join(", ", each.causes)));
    }
    return text.toString();
  }
}
