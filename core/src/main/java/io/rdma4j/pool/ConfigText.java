package io.rdma4j.pool;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * How the values of one type are written in properties and environment variables. What is printed
 * parses to the same value. Spaces around a text do not count; an empty text is no value.
 *
 * @param form the notation in words
 */
record ConfigText<T>(
    String form, Function<String, Optional<T>> parser, Function<T, String> printer) {
  /** Bytes, with suffixes for powers of 1024. */
  static final ConfigText<Long> BYTES =
      new ConfigText<>(
          "a whole number of bytes, or of k, m or g (powers of 1024)",
          ConfigText::parseBytes,
          ConfigText::printBytes);

  /** Numbers of bytes, separated by commas. */
  static final ConfigText<List<Long>> BYTE_LIST =
      new ConfigText<>(
          "whole numbers of bytes, or of k, m or g (powers of 1024), separated by commas",
          ConfigText::parseByteList,
          sizes -> sizes.stream().map(ConfigText::printBytes).collect(Collectors.joining(",")));

  /** Whole numbers without a suffix. */
  static final ConfigText<Integer> COUNT =
      new ConfigText<>("a whole number", ConfigText::parseCount, String::valueOf);

  /** Decimal numbers, for shares of one. */
  static final ConfigText<Double> SHARE =
      new ConfigText<>("a decimal number", ConfigText::parseShare, ConfigText::printShare);

  /** Times. The unit is required, so that nobody takes seconds for milliseconds. */
  static final ConfigText<Duration> DURATION =
      new ConfigText<>(
          "a whole number with its unit: ns, us, ms, s, m (minutes) or h",
          ConfigText::parseDuration,
          ConfigText::printDuration);

  /** True or false. */
  static final ConfigText<Boolean> FLAG =
      new ConfigText<>("true or false", ConfigText::parseFlag, String::valueOf);

  private static final String BYTE_SUFFIXES = "kmg";

  private record Unit(String suffix, long ns) {}

  /** Longest first. */
  private static final List<Unit> TIME_UNITS =
      List.of(
          new Unit("h", TimeUnit.HOURS.toNanos(1)),
          new Unit("m", TimeUnit.MINUTES.toNanos(1)),
          new Unit("s", TimeUnit.SECONDS.toNanos(1)),
          new Unit("ms", TimeUnit.MILLISECONDS.toNanos(1)),
          new Unit("us", TimeUnit.MICROSECONDS.toNanos(1)),
          new Unit("ns", 1));

  /** Returns the notation of an enum: its names, in any case, with - or _. */
  static <E extends Enum<E>> ConfigText<E> oneOf(Class<E> type) {
    List<E> all = List.of(type.getEnumConstants());
    String names = all.stream().map(Enum::name).collect(Collectors.joining(", "));
    return new ConfigText<>(
        "one of " + names,
        text -> all.stream().filter(e -> isName(text, e.name())).findFirst(),
        Enum::name);
  }

  /** Returns the value of a text, or empty when it is not written in this notation. */
  Optional<T> parse(String text) {
    return parser.apply(text.strip());
  }

  String print(T value) {
    return printer.apply(value);
  }

  private static Optional<Long> parseBytes(String text) {
    String lower = text.toLowerCase(Locale.ROOT);
    int power = lower.isEmpty() ? -1 : BYTE_SUFFIXES.indexOf(lower.charAt(lower.length() - 1));
    if (power < 0) {
      return whole(lower, 1);
    }
    return whole(lower.substring(0, lower.length() - 1), 1L << (10 * (power + 1)));
  }

  private static String printBytes(long bytes) {
    for (int power = BYTE_SUFFIXES.length(); power > 0; power--) {
      long unit = 1L << (10 * power);
      if (bytes != 0 && bytes % unit == 0) {
        return bytes / unit + BYTE_SUFFIXES.substring(power - 1, power);
      }
    }
    return String.valueOf(bytes);
  }

  private static Optional<List<Long>> parseByteList(String text) {
    List<Long> sizes = new ArrayList<>();
    for (String part : text.split(",", -1)) {
      Optional<Long> bytes = parseBytes(part.strip());
      if (bytes.isEmpty()) {
        return Optional.empty();
      }
      sizes.add(bytes.get());
    }
    return Optional.of(List.copyOf(sizes));
  }

  private static Optional<Integer> parseCount(String text) {
    return whole(text, 1).filter(n -> n <= Integer.MAX_VALUE).map(Long::intValue);
  }

  private static Optional<Double> parseShare(String text) {
    // Double.parseDouble alone would take 1f, 0x1p-3 and NaN.
    return text.matches("[0-9]+(\\.[0-9]+)?")
        ? Optional.of(Double.parseDouble(text))
        : Optional.empty();
  }

  private static String printShare(double share) {
    return Double.isFinite(share)
        ? BigDecimal.valueOf(share).stripTrailingZeros().toPlainString()
        : String.valueOf(share);
  }

  private static Optional<Duration> parseDuration(String text) {
    int digits = 0;
    while (digits < text.length() && isDigit(text.charAt(digits))) {
      digits++;
    }
    String unit = text.substring(digits);
    if (text.equals("0")) { // the same in every unit
      return Optional.of(Duration.ZERO);
    }
    String number = text.substring(0, digits);
    return TIME_UNITS.stream()
        .filter(u -> u.suffix().equals(unit))
        .findFirst()
        .flatMap(u -> whole(number, u.ns()))
        .map(Duration::ofNanos);
  }

  private static String printDuration(Duration time) {
    if (time.isZero()) {
      return "0";
    }
    if (time.compareTo(Duration.ofNanos(Long.MIN_VALUE)) < 0
        || time.compareTo(Duration.ofNanos(Long.MAX_VALUE)) > 0) {
      return time.toString();
    }
    long ns = time.toNanos();
    return TIME_UNITS.stream()
        .filter(u -> ns % u.ns() == 0)
        .findFirst()
        .map(u -> ns / u.ns() + u.suffix())
        .orElseThrow();
  }

  private static Optional<Boolean> parseFlag(String text) {
    return isName(text, "true")
        ? Optional.of(true)
        : isName(text, "false") ? Optional.of(false) : Optional.empty();
  }

  private static boolean isName(String text, String name) {
    return text.replace('-', '_').equalsIgnoreCase(name);
  }

  /** Returns a number of units; empty for signs, other digits than 0 to 9, and overflow. */
  private static Optional<Long> whole(String digits, long unit) {
    if (digits.isEmpty() || !digits.chars().allMatch(c -> isDigit((char) c))) {
      return Optional.empty();
    }
    try {
      return Optional.of(Math.multiplyExact(Long.parseLong(digits), unit));
    } catch (NumberFormatException | ArithmeticException e) {
      return Optional.empty();
    }
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }
}
