package io.rdma4j.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.status.Cause;
import io.rdma4j.status.Cause.Confidence;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The rule table against the labelled corpus, and the rules' own grammar. */
final class RootCausesTest {
  private static final RootCauses CAUSES = RootCauses.builtIn();

  private static List<RecordedIncident> corpus = List.of();

  @BeforeAll
  static void readCorpus() throws IOException {
    corpus = RecordedIncident.all();
  }

  private static List<RecordedIncident> corpus() {
    return corpus;
  }

  private static Stream<String> rules() {
    return CAUSES.ids().stream();
  }

  private static List<String> ids(RecordedIncident incident) {
    return CAUSES.of(incident.facts()).stream().map(Cause::id).toList();
  }

  @Test
  void theCorpusIsScored() {
    int separable = 0;
    int top1 = 0;
    int top3 = 0;
    int unknown = 0;
    int unknownSaid = 0;
    int healthy = 0;
    int falseAlarms = 0;
    List<String> wrong = new ArrayList<>();
    for (RecordedIncident incident : corpus()) {
      List<String> found = ids(incident);
      switch (incident.label()) {
        case RecordedIncident.HEALTHY -> {
          healthy++;
          falseAlarms += found.isEmpty() ? 0 : 1;
        }
        case RecordedIncident.UNKNOWN -> {
          unknown++;
          unknownSaid += found.isEmpty() ? 1 : 0;
        }
        default -> {
          separable++;
          boolean first = !found.isEmpty() && isOf(incident, found.getFirst());
          top1 += first ? 1 : 0;
          top3 += found.stream().limit(3).anyMatch(cause -> isOf(incident, cause)) ? 1 : 0;
          if (!first) {
            wrong.add(incident + ": " + incident.label() + ", found " + found);
          }
        }
      }
    }
    System.out.printf(
        "root causes: %d of %d first (%.1f %%), %d among the first three; nothing on %d of %d"
            + " healthy windows; 'unknown' said for %d of %d; not first: %s%n",
        top1,
        separable,
        100.0 * top1 / separable,
        top3,
        healthy - falseAlarms,
        healthy,
        unknownSaid,
        unknown,
        wrong);
    assertTrue(separable >= 60 && healthy >= 10, "the corpus is complete");
    assertEquals(0, falseAlarms);
    assertEquals(unknown, unknownSaid);
    assertTrue(top1 >= 0.9 * separable, wrong.toString());
  }

  private static boolean isOf(RecordedIncident incident, String cause) {
    return cause.equals(incident.label()) || cause.equals(incident.also());
  }

  @ParameterizedTest
  @MethodSource("corpus")
  void twoCausesAtOnceAreBothNamed(RecordedIncident incident) {
    if (!incident.also().isEmpty()) {
      List<String> found = ids(incident);
      assertTrue(found.contains(incident.label()), () -> incident + " " + found);
      assertTrue(found.contains(incident.also()), () -> incident + " " + found);
    }
  }

  @ParameterizedTest
  @MethodSource("corpus")
  void everyCauseHasItsEvidence(RecordedIncident incident) {
    for (Cause cause : CAUSES.of(incident.facts())) {
      assertFalse(cause.evidence().isEmpty(), cause.id());
      assertTrue(
          cause.evidence().stream().allMatch(row -> row.matches(".* (0x)?[0-9a-f.]+")),
          () -> "figures: " + cause.evidence());
    }
  }

  @ParameterizedTest
  @MethodSource("rules")
  void everyRuleIsTheFirstAnswerToSomething(String rule) {
    for (RecordedIncident incident : corpus()) {
      List<String> found = ids(incident);
      if (!found.isEmpty() && found.getFirst().equals(rule) && isOf(incident, rule)) {
        return;
      }
    }
    throw new AssertionError("no recorded incident is labelled " + rule + " and answered so");
  }

  @Test
  void everyLabelIsARule() {
    Set<String> known = new TreeSet<>(CAUSES.ids());
    known.addAll(Set.of("", RecordedIncident.HEALTHY, RecordedIncident.UNKNOWN));
    for (RecordedIncident incident : corpus()) {
      assertTrue(known.contains(incident.label()), incident.toString());
      assertTrue(known.contains(incident.also()), incident.toString());
    }
  }

  /** Whatever needed fact is taken away, the rule is silent: it never answers by habit. */
  @ParameterizedTest
  @MethodSource("rules")
  void aRuleWithoutItsEvidenceIsSilent(String id) {
    Rule rule = CAUSES.rules().stream().filter(r -> r.id().equals(id)).findFirst().orElseThrow();
    assertTrue(rule.match(new Facts.Builder().build()).isEmpty(), "nothing is known");
    for (RecordedIncident incident : corpus()) {
      Facts facts = incident.facts();
      if (rule.match(facts).isEmpty()) {
        continue;
      }
      for (Condition need : rule.needs()) {
        Facts.Builder fewer = new Facts.Builder();
        facts
            .values()
            .forEach(
                (name, value) -> {
                  if (!need.facts().contains(name)) {
                    fewer.set(name, value);
                  }
                });
        boolean isAbout0 = need.toString().contains("== 0");
        assertTrue(isAbout0 || rule.match(fewer.build()).isEmpty(), () -> id + " without " + need);
      }
    }
  }

  @Test
  void whatIsUnknownLowersTheConfidenceAndIsSaid() {
    Facts.Builder facts =
        new Facts.Builder()
            .set("config.roce", 1)
            .set("counter.out_of_sequence", 20)
            .set("counter.receive_discards", 330);
    Cause unsure = CAUSES.of(facts.build()).getFirst();
    assertEquals("pfc-misconfigured", unsure.id());
    assertEquals(Confidence.LIKELY, unsure.confidence());
    assertTrue(unsure.missing().contains("counter pause_received"), unsure.missing().toString());
    facts.set("counter.pause_received", 0).set("counter.pause_sent", 0);
    facts.set("peer.counter.pause_received", 0).set("peer.counter.pause_sent", 0);
    assertEquals(Confidence.CERTAIN, CAUSES.of(facts.build()).getFirst().confidence());
    facts.set("counter.pause_received", 5);
    assertEquals("packet-loss", CAUSES.of(facts.build()).getFirst().id());
  }

  @Test
  void whatCanNotBeSeparatedIsNeverCertain() {
    for (Rule rule : CAUSES.rules()) {
      if (!rule.inseparableFrom().isEmpty()) {
        Facts.Builder facts = new Facts.Builder();
        facts.set("completion.rem_access_err", 1).set("counter.access_refused", 1);
        facts.set("peer.known", 1).set("peer.event.qp_access_err", 1);
        for (Cause cause : CAUSES.of(facts.build())) {
          assertEquals("remote-access", cause.id());
          assertEquals(2, cause.inseparableFrom().size());
          assertEquals(Confidence.LIKELY, cause.confidence());
        }
      }
    }
  }

  private static final String RULE =
      "rule a\n  title t\n  confidence likely\n  weight 5\n  next n\n  source s\n";

  @ParameterizedTest
  @ValueSource(
      strings = {
        "rule a",
        RULE,
        RULE + "  needs a.b",
        RULE + "  needs a.b > x y",
        RULE + "  needs a.b > 0\n  confidence sure",
        RULE + "  needs a.b > 0\n  weight 0",
        RULE + "  needs a.b > 0\n  explains b",
        RULE + "  needs a.b > 0\n" + RULE + "  needs a.b > 0",
        RULE + "  titel t",
        "regel a",
      })
  void aWrongTableIsRefusedWithItsLine(String text) {
    IllegalArgumentException refused =
        assertThrows(IllegalArgumentException.class, () -> RootCauses.parse("test", text));
    assertTrue(
        String.valueOf(refused.getMessage()).matches("test, line \\d+: .*"), refused.toString());
  }

  @Test
  void conditionsKnowThreeTruths() {
    Facts facts = new Facts.Builder().set("a.b", 10).set("c.d", 5).build();
    assertEquals(Condition.Truth.TRUE, Condition.parse("a.b > 9").of(facts));
    assertEquals(Condition.Truth.FALSE, Condition.parse("a.b > 0x0a").of(facts));
    assertEquals(Condition.Truth.TRUE, Condition.parse("a.b >= 2 * c.d").of(facts));
    assertEquals(Condition.Truth.FALSE, Condition.parse("a.b != 2 * c.d").of(facts));
    assertEquals(Condition.Truth.UNKNOWN, Condition.parse("a.b > x.y").of(facts));
    assertEquals(Condition.Truth.UNKNOWN, Condition.parse("x.y == 0").of(facts));
    assertEquals(Condition.Truth.TRUE, Condition.parse("x.y > 0 or a.b > 0").of(facts));
    assertEquals(Condition.Truth.UNKNOWN, Condition.parse("x.y > 0 or a.b > 10").of(facts));
    assertEquals(Condition.Truth.FALSE, Condition.parse("event.x > 0").of(facts), "complete");
    assertEquals(Condition.Truth.UNKNOWN, Condition.parse("peer.event.x > 0").of(facts));
  }
}
