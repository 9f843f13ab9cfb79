package io.rdma4j.tools.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

/** A program that answers, refuses, or is not there. */
final class EthtoolTest {
  @Test
  void answerOfAProgram() {
    assertEquals("-S eth7\n", Ethtool.run("echo", "eth7"));
  }

  @Test
  void failureIsNoAnswer() {
    assertNull(Ethtool.run("false", "eth7"));
    assertNull(Ethtool.run("/no/such/program", "eth7"));
  }

  @Test
  void aNameIsNoOption() {
    assertNull(Ethtool.statistics("--help"));
  }
}
