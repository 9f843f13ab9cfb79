package io.rdma4j.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The program in the README is {@link Hello}, and it does what the README says. */
@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
final class ReadmeSnippetTest {
  private static final String PACKAGE = "package io.rdma4j.tools;\n\n";

  @ParameterizedTest
  @ValueSource(strings = {"shm", "tcp"})
  void theReplyComesBackOver(String path) throws IOException {
    assertEquals("buy 100", Hello.ask(freePort(), path));
  }

  /** Looked for where the nodes of the program meet: a port may be free on one loopback only. */
  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName("localhost"))) {
      return socket.getLocalPort();
    }
  }

  @Test
  void theReadmeShowsThisProgram() throws IOException {
    String source = Files.readString(Path.of("src/test/java/io/rdma4j/tools/Hello.java"));
    assertTrue(source.startsWith(PACKAGE), source);
    String shown = "```java\n" + source.substring(PACKAGE.length()) + "```\n";
    assertTrue(Files.readString(Path.of("../README.md")).contains(shown), shown);
  }
}
