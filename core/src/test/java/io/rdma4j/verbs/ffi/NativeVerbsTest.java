package io.rdma4j.verbs.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdma4j.VerbsException;
import io.rdma4j.verbs.Verbs;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The states of a machine that cannot do RDMA: each is explained, none is an error by itself. */
final class NativeVerbsTest {
  private static final String MISSING = "librdma4j-no-such-library.so.1";

  @Test
  void explainsAMissingLibrary() {
    NativeVerbs verbs = new NativeVerbs(MISSING, MISSING);
    assertFalse(verbs.availability().usable());
    assertContains(verbs.availability().reason(), MISSING, "apt-get install libibverbs1");
    assertEquals(List.of(), verbs.devices());
    assertContains(message(() -> verbs.open("mlx5_0")), MISSING, "apt-get install");
    assertContains(message(verbs::createCmId), MISSING, "librdmacm1");
  }

  @Test
  void explainsALibraryWithoutTheFunctions() {
    NativeVerbs verbs = new NativeVerbs("libc.so.6", "libc.so.6");
    assertContains(verbs.availability().reason(), "libc.so.6 has no function ibv_");
  }

  @Test
  void explainsAMachineWithoutDevices() {
    assumeFalse(Files.exists(Path.of("/sys/class/infiniband")), "this machine has RDMA devices");
    NativeVerbs verbs = new NativeVerbs("libibverbs.so.1", "librdmacm.so.1");
    assumeTrue(!verbs.availability().reason().contains("cannot be loaded"), "no libibverbs.so.1");
    assertFalse(verbs.availability().usable());
    assertContains(verbs.availability().reason(), "ENOSYS 38", "ib_uverbs");
    assertEquals(List.of(), verbs.devices());
    assertContains(message(() -> verbs.open("mlx5_0")), "mlx5_0");
    assertContains(message(verbs::createCmId), "rdma_create_event_channel");
  }

  @Test
  void isOneForTheProcess() {
    assertSame(Verbs.system(), Verbs.system());
  }

  private static String message(Executable call) {
    return String.valueOf(assertThrows(VerbsException.class, call).getMessage());
  }

  private static void assertContains(String text, String... parts) {
    for (String part : parts) {
      assertTrue(text.contains(part), () -> "\"" + part + "\" in: " + text);
    }
  }
}
