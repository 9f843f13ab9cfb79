package io.rdma4j.status;

import java.util.Arrays;
import java.util.List;

/**
 * Chooses metrics by name: patterns separated by commas, where {@code *} is any text and {@code $}
 * one character. Nothing, or only blanks, chooses all.
 */
final class NameFilter {
  private static final char ANY_TEXT = '*';
  private static final char ANY_CHARACTER = '$';

  private final List<String> patterns;

  NameFilter(String patterns) {
    this.patterns =
        Arrays.stream(patterns.split(",")).map(String::strip).filter(p -> !p.isEmpty()).toList();
  }

  boolean accepts(String name) {
    return patterns.isEmpty() || patterns.stream().anyMatch(pattern -> matches(pattern, name));
  }

  /**
   * Goes back to the latest star only, so that a pattern from the network costs at most its length
   * times that of the name.
   */
  private static boolean matches(String pattern, String name) {
    int p = 0;
    int n = 0;
    int afterStar = -1;
    int starEnd = 0;
    while (n < name.length()) {
      char wanted = p < pattern.length() ? pattern.charAt(p) : 0;
      if (wanted == ANY_TEXT) {
        afterStar = ++p;
        starEnd = n;
      } else if (wanted == ANY_CHARACTER || wanted == name.charAt(n)) {
        p++;
        n++;
      } else if (afterStar >= 0) {
        p = afterStar;
        n = ++starEnd;
      } else {
        return false;
      }
    }
    while (p < pattern.length() && pattern.charAt(p) == ANY_TEXT) {
      p++;
    }
    return p == pattern.length();
  }
}
