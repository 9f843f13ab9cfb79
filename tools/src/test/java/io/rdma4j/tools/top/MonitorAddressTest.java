package io.rdma4j.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class MonitorAddressTest {
  @ParameterizedTest
  @CsvSource({
    "http://127.0.0.1:7480/, http://127.0.0.1:7480/",
    "127.0.0.1:9000, http://127.0.0.1:9000",
    "db.example:9000/, http://db.example:9000/",
    "[::1]:9000, http://[::1]:9000",
    "https://db.example:443/, https://db.example:443/",
    "db.example, http://db.example:7480",
    "http://db.example/, http://db.example:7480/",
  })
  void aMonitorIsNamedInManyWays(String target, String address) throws IOException {
    assertEquals(URI.create(address), MonitorAddress.of(target));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "no host", "http://", ":7480", "/var/log", "a:b"})
  void anythingElseIsRefusedWithWhatIsExpected(String target) {
    IOException refused = assertThrows(IOException.class, () -> MonitorAddress.of(target));
    assertTrue(String.valueOf(refused.getMessage()).contains("HOST:PORT"), refused.getMessage());
  }

  /** Linux gives no process a number above 2^22 (proc(5), pid_max). */
  @Test
  void aProcessThatIsNotThereIsNamed() {
    IOException refused = assertThrows(IOException.class, () -> MonitorAddress.of("99999999"));
    assertTrue(
        String.valueOf(refused.getMessage()).contains("process 99999999 can not be asked"),
        refused.getMessage());
  }
}
