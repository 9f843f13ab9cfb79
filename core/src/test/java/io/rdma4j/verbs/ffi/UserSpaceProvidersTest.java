package io.rdma4j.verbs.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class UserSpaceProvidersTest {
  private static final List<String> MAPS =
      List.of(
          "7f0000000000-7f0000001000 r-xp 00000000 08:01 1   /usr/lib/libibverbs/librxe-rdmav34.so",
          "7f0000001000-7f0000002000 r-xp 00000000 08:01 2   /usr/lib/libmlx5.so.1.24.44.0",
          "7f0000002000-7f0000003000 r-xp 00000000 08:01 3  "
              + " /usr/lib/libibverbs/libirdma-rdmav34.so",
          "7f0000003000-7f0000004000 rw-p 00000000 00:00 0",
          "7f0000004000-7f0000005000 r-xp 00000000 08:01 4   /usr/lib/libibverbs.so.1.14.44.0",
          "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]");

  @ParameterizedTest
  @CsvSource({
    "7f0000000fff, false",
    "7f0000001000, true",
    "7f0000002abc, true",
    "7f0000003000, false",
    "7f0000004010, false",
    "1, false"
  })
  void decidesByTheLibraryThatHoldsTheFunction(String address, boolean expected) {
    assertEquals(expected, UserSpaceProviders.contains(Long.parseUnsignedLong(address, 16), MAPS));
  }
}
