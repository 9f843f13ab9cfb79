package io.rdma4j.diagnosis;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What operators read of a rule is what the rule says. */
final class RuleDocumentTest {
  private static final Path DOCUMENT = Path.of("../docs/operating/root-causes.md");

  @Test
  void everyRuleIsDocumentedAsItIs() throws IOException {
    List<String> lines = Files.readAllLines(DOCUMENT, UTF_8);
    for (Rule rule : RootCauses.builtIn().rules()) {
      String row =
          lines.stream()
              .filter(line -> line.startsWith("| `" + rule.id() + "`"))
              .findFirst()
              .orElseThrow(() -> new AssertionError(rule.id() + " is not in " + DOCUMENT));
      assertTrue(row.contains(rule.title()), row);
      assertTrue(row.contains(rule.nextStep()), row);
      assertTrue(row.contains("(watched)") == rule.watch(), row);
      for (List<Condition> conditions : List.of(rule.needs(), rule.forbids(), rule.supports())) {
        for (Condition condition : conditions) {
          assertTrue(row.contains("`" + condition + "`"), () -> condition + " in " + row);
        }
      }
      rule.inseparableFrom().forEach(other -> assertTrue(row.contains(other), row));
    }
    long rows =
        lines.stream().filter(line -> line.matches("\\| `[a-z-]+`( \\(watched\\))?: .*")).count();
    assertTrue(rows == RootCauses.builtIn().rules().size(), "no row without a rule");
  }
}
