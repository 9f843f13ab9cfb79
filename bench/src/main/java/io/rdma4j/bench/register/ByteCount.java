package io.rdma4j.bench.register;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a number of bytes such as {@code 256m} or {@code 1g}. */
final class ByteCount implements ITypeConverter<Long> {
  private static final Pattern FORM = Pattern.compile("([1-9]\\d{0,8})([kmg])");

  @Override
  public Long convert(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      throw new TypeConversionException(
          "'" + text + "' is no size; valid: a whole number with k, m or g, for example 256m");
    }
    int shift = 10 * (1 + "kmg".indexOf(matcher.group(2)));
    return Long.parseLong(matcher.group(1)) << shift;
  }
}
