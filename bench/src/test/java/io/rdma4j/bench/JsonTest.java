package io.rdma4j.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class JsonTest {
  @Test
  void aResultReadsBackAsItWasWritten(@TempDir Path directory) throws IOException {
    Map<String, Object> root = new LinkedHashMap<>();
    Json.putRatios(root, Map.of("hit8k_vs_glibc", new Ratio(new double[] {4, 2, 3})));
    Series series = new Series(List.of(new double[] {2, 1.5}, new double[] {3, 4}));
    root.put("rows", List.of(Json.row("hit8k", series)));
    Path file = directory.resolve("out.json");
    Json.write(file, root);

    assertEquals(
        Map.of(
            "ratios", Map.of("hit8k_vs_glibc", 3.0),
            "ratioSpread",
                Map.of(
                    "hit8k_vs_glibc",
                    Map.of(
                        "min", 2.0, "median", 3.0, "max", 4.0, "rounds", List.of(4.0, 2.0, 3.0))),
            "rows",
                List.of(
                    Map.of(
                        "name",
                        "hit8k",
                        "minNs",
                        1.5,
                        "medianNs",
                        2.25,
                        "roundsNs",
                        List.of(List.of(2.0, 1.5), List.of(3.0, 4.0))))),
        JSON.std.anyFrom(Files.readString(file)));
  }
}
