package io.rdma4j.os;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads what {@code numactl --hardware} prints, so that tests have the machines that people show in
 * their reports:
 *
 * <pre>
 *   available: 2 nodes (0-1)
 *   node 0 cpus: 0 1 2 3
 *   node 0 size: 64307 MB
 *   node 0 free: 19214 MB
 *   ...
 *   node distances:
 *   node   0   1
 *     0:  10  21
 *     1:  21  10
 * </pre>
 */
public final class NumactlText {
  private static final Pattern CPUS = Pattern.compile("node (\\d+) cpus:(.*)");
  private static final Pattern SIZE = Pattern.compile("node (\\d+) size: (\\d+) MB");
  private static final Pattern ROW = Pattern.compile("\\s*(\\d+):\\s+(.*)");

  private NumactlText() {}

  /** Returns the topology in a text of the test resources. */
  public static NumaTopology resource(String name) throws IOException {
    try (InputStream in = NumactlText.class.getResourceAsStream("/numa/" + name)) {
      return parse(new String(in.readAllBytes(), StandardCharsets.UTF_8));
    }
  }

  /** Returns the topology in a text; unknown when it shows no nodes. */
  public static NumaTopology parse(String text) {
    Map<Integer, BitSet> cpus = new TreeMap<>();
    Map<Integer, Boolean> hasMemory = new HashMap<>();
    Map<Integer, int[]> distances = new HashMap<>();
    for (String line : text.lines().toList()) {
      Matcher matcher = CPUS.matcher(line);
      if (matcher.matches()) {
        BitSet set = new BitSet();
        numbers(matcher.group(2)).forEach(set::set);
        cpus.put(Integer.valueOf(matcher.group(1)), set);
      } else if (matcher.usePattern(SIZE).matches()) {
        hasMemory.put(Integer.valueOf(matcher.group(1)), !matcher.group(2).equals("0"));
      } else if (matcher.usePattern(ROW).matches()) {
        distances.put(
            Integer.valueOf(matcher.group(1)),
            numbers(matcher.group(2)).stream().mapToInt(Integer::intValue).toArray());
      }
    }
    List<NumaTopology.Node> nodes = new ArrayList<>();
    cpus.forEach(
        (id, set) ->
            nodes.add(
                new NumaTopology.Node(
                    id,
                    hasMemory.getOrDefault(id, true),
                    set,
                    distances.getOrDefault(id, new int[0]))));
    return nodes.isEmpty() ? NumaTopology.unknown() : new NumaTopology(nodes);
  }

  private static List<Integer> numbers(String text) {
    return text.isBlank()
        ? List.of()
        : Pattern.compile("\\s+").splitAsStream(text.strip()).map(Integer::valueOf).toList();
  }
}
