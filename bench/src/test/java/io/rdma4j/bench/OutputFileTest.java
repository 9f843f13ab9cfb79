package io.rdma4j.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.bench.pool.PoolCommand;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** Where results can not be written is known before anything is measured. */
final class OutputFileTest {
  @TempDir private Path folder;

  private void refused(Path file, String why) {
    ParameterException refusal =
        assertThrows(
            ParameterException.class,
            () -> new CommandLine(new PoolCommand()).parseArgs("--json", file.toString()));
    assertTrue(String.valueOf(refusal.getMessage()).contains(why), refusal::getMessage);
  }

  @Test
  void aFileInAFolderIsTaken() {
    Path file = folder.resolve("out.json");
    assertEquals(file, new OutputFile().convert(file.toString()));
    assertEquals(Path.of("out.json"), new OutputFile().convert("out.json"));
  }

  @Test
  void aFolderAndWhatLiesInNoneAreRefused() {
    refused(folder, "is a directory");
    refused(folder.resolve("missing").resolve("out.json"), "there is no directory " + folder);
  }
}
