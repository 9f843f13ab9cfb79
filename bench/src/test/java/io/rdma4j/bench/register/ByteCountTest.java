package io.rdma4j.bench.register;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine.TypeConversionException;

final class ByteCountTest {
  private final ByteCount converter = new ByteCount();

  @Test
  void suffixesArePowersOf1024() {
    assertEquals(64L << 10, converter.convert("64k"));
    assertEquals(256L << 20, converter.convert("256m"));
    assertEquals(999_999_999L << 30, converter.convert("999999999g"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "m", "0m", "-1g", "1", "1.5g", "1t", "1 g", "9999999999g"})
  void everythingElseIsRefused(String text) {
    assertThrows(TypeConversionException.class, () -> converter.convert(text));
  }
}
