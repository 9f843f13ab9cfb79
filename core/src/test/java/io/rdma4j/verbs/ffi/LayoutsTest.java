package io.rdma4j.verbs.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdma4j.verbs.Access;
import io.rdma4j.verbs.AsyncEvent;
import io.rdma4j.verbs.CmEvent;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.PortAttributes;
import io.rdma4j.verbs.QueuePairState;
import io.rdma4j.verbs.SendList;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Compares every size, offset and constant in use with the C headers, by compiling them. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
final class LayoutsTest {
  @Test
  void agreesWithTheHeaders(@TempDir Path directory) throws Exception {
    Map<String, Long> expected = new LinkedHashMap<>(Layouts.expressions());
    assertTrue(expected.size() > 100, "the table is filled: " + expected.size());
    workRequests(expected);
    enums(expected);
    assertEquals(lines(expected), lines(compiled(directory, expected)));
  }

  /** What {@link SendList}, {@code ReceiveList} and {@link Completions} draw in their documents. */
  private static void workRequests(Map<String, Long> expected) {
    expected.put("sizeof(struct ibv_send_wr)", 128L);
    at(expected, "struct ibv_send_wr", "wr_id", 0);
    at(expected, "struct ibv_send_wr", "next", 8);
    at(expected, "struct ibv_send_wr", "sg_list", 16);
    at(expected, "struct ibv_send_wr", "num_sge", 24);
    at(expected, "struct ibv_send_wr", "opcode", 28);
    at(expected, "struct ibv_send_wr", "send_flags", 32);
    at(expected, "struct ibv_send_wr", "imm_data", 36);
    at(expected, "struct ibv_send_wr", "wr.rdma.remote_addr", 40);
    at(expected, "struct ibv_send_wr", "wr.rdma.rkey", 48);
    at(expected, "struct ibv_send_wr", "wr.atomic.remote_addr", 40);
    at(expected, "struct ibv_send_wr", "wr.atomic.compare_add", 48);
    at(expected, "struct ibv_send_wr", "wr.atomic.swap", 56);
    at(expected, "struct ibv_send_wr", "wr.atomic.rkey", 64);
    expected.put("sizeof(struct ibv_recv_wr)", 32L);
    at(expected, "struct ibv_recv_wr", "wr_id", 0);
    at(expected, "struct ibv_recv_wr", "next", 8);
    at(expected, "struct ibv_recv_wr", "sg_list", 16);
    at(expected, "struct ibv_recv_wr", "num_sge", 24);
    expected.put("sizeof(struct ibv_sge)", 16L);
    at(expected, "struct ibv_sge", "addr", 0);
    at(expected, "struct ibv_sge", "length", 8);
    at(expected, "struct ibv_sge", "lkey", 12);
    expected.put("sizeof(struct ibv_wc)", 48L);
    at(expected, "struct ibv_wc", "wr_id", 0);
    at(expected, "struct ibv_wc", "status", 8);
    at(expected, "struct ibv_wc", "opcode", 12);
    at(expected, "struct ibv_wc", "vendor_err", 16);
    at(expected, "struct ibv_wc", "byte_len", 20);
    at(expected, "struct ibv_wc", "imm_data", 24);
    at(expected, "struct ibv_wc", "qp_num", 28);
    at(expected, "struct ibv_wc", "src_qp", 32);
    at(expected, "struct ibv_wc", "wc_flags", 36);
  }

  private static void enums(Map<String, Long> expected) {
    expected.put("IBV_SEND_SIGNALED", (long) SendList.SIGNALED);
    expected.put("IBV_SEND_SOLICITED", (long) SendList.SOLICITED);
    expected.put("IBV_SEND_INLINE", (long) SendList.INLINE);
    expected.put("IBV_WR_RDMA_WRITE", (long) SendList.OP_RDMA_WRITE);
    expected.put("IBV_WR_RDMA_WRITE_WITH_IMM", (long) SendList.OP_RDMA_WRITE_WITH_IMM);
    expected.put("IBV_WR_SEND", (long) SendList.OP_SEND);
    expected.put("IBV_WR_SEND_WITH_IMM", (long) SendList.OP_SEND_WITH_IMM);
    expected.put("IBV_WR_RDMA_READ", (long) SendList.OP_RDMA_READ);
    expected.put("IBV_WR_ATOMIC_CMP_AND_SWP", (long) SendList.OP_COMPARE_AND_SWAP);
    expected.put("IBV_WR_ATOMIC_FETCH_AND_ADD", (long) SendList.OP_FETCH_AND_ADD);
    expected.put("IBV_WC_SUCCESS", (long) Completions.SUCCESS);
    expected.put("IBV_WC_WR_FLUSH_ERR", (long) Completions.FLUSHED);
    expected.put("IBV_WC_RECV", (long) Completions.OPCODE_RECEIVE);
    expected.put("IBV_WC_RECV_RDMA_WITH_IMM", (long) Completions.OPCODE_RECEIVE_WRITE_WITH_IMM);
    expected.put("IBV_WC_WITH_IMM", (long) Completions.FLAG_WITH_IMM);
    expected.put("IBV_ACCESS_LOCAL_WRITE", (long) Access.LOCAL_WRITE);
    expected.put("IBV_ACCESS_REMOTE_WRITE", (long) Access.REMOTE_WRITE);
    expected.put("IBV_ACCESS_REMOTE_READ", (long) Access.REMOTE_READ);
    expected.put("IBV_ACCESS_REMOTE_ATOMIC", (long) Access.REMOTE_ATOMIC);
    expected.put("IBV_ACCESS_RELAXED_ORDERING", (long) Access.RELAXED_ORDERING);
    for (AsyncEvent.Type type : AsyncEvent.Type.values()) {
      if (type != AsyncEvent.Type.UNKNOWN) {
        expected.put("IBV_EVENT_" + type, numberOf(AsyncEvent.Type::of, type));
      }
    }
    for (CmEvent.Type type : CmEvent.Type.values()) {
      if (type != CmEvent.Type.UNKNOWN) {
        expected.put("RDMA_CM_EVENT_" + type, numberOf(CmEvent.Type::of, type));
      }
    }
    for (QueuePairState state : QueuePairState.values()) {
      expected.put("IBV_QPS_" + state, numberOf(QueuePairState::of, state));
    }
    long state = 0;
    for (PortAttributes.State portState : PortAttributes.State.values()) {
      expected.put("IBV_PORT_" + portState, state++);
    }
    long linkLayer = 0;
    for (PortAttributes.LinkLayer layer : PortAttributes.LinkLayer.values()) {
      expected.put("IBV_LINK_LAYER_" + layer, linkLayer++);
    }
    errnos(expected);
  }

  private static void errnos(Map<String, Long> expected) {
    for (int errno = 1; errno < 134; errno++) {
      String text = Errno.describe(errno);
      if (!text.startsWith("errno ")) {
        expected.put(text.substring(0, text.indexOf(' ')), (long) errno);
      }
    }
  }

  private static <T extends Enum<T>> long numberOf(IntFunction<T> of, T value) {
    for (int number = 0; number < 64; number++) {
      if (value.equals(of.apply(number))) {
        return number;
      }
    }
    throw new AssertionError(value + " has no number");
  }

  private static void at(Map<String, Long> expected, String type, String field, long offset) {
    expected.put("offsetof(" + type + ", " + field + ")", offset);
  }

  private static Map<String, Long> compiled(Path directory, Map<String, Long> expressions)
      throws IOException, InterruptedException {
    StringBuilder program =
        new StringBuilder(
            """
            #define _GNU_SOURCE
            #include <errno.h>
            #include <fcntl.h>
            #include <netinet/in.h>
            #include <poll.h>
            #include <stddef.h>
            #include <stdio.h>
            #include <time.h>
            #include <infiniband/verbs.h>
            #include <rdma/rdma_cma.h>
            int main(void) {
            """);
    for (String expression : expressions.keySet()) {
      program.append("printf(\"%s=%ld\\n\", \"").append(expression).append("\", (long) (");
      program.append(expression).append("));\n");
    }
    program.append("return 0; }\n");
    Path source = directory.resolve("layouts.c");
    Files.writeString(source, program);
    Path executable = directory.resolve("layouts");
    assumeTrue(hasHeaders(directory), "no C compiler, or no libibverbs-dev and librdmacm-dev");
    run(directory, "cc", "-o", executable.toString(), source.toString());
    Map<String, Long> values = new LinkedHashMap<>();
    for (String line : run(directory, executable.toString()).lines().toList()) {
      int equals = line.lastIndexOf('=');
      values.put(line.substring(0, equals), Long.parseLong(line.substring(equals + 1)));
    }
    return values;
  }

  /** Tells missing tools, a reason to skip, from a program that does not compile, a failure. */
  private static boolean hasHeaders(Path directory) throws IOException, InterruptedException {
    Path probe = directory.resolve("probe.c");
    Files.writeString(
        probe, "#include <infiniband/verbs.h>\n#include <rdma/rdma_cma.h>\nint main(void){}\n");
    try {
      Process cc =
          new ProcessBuilder("cc", "-fsyntax-only", probe.toString())
              .redirectErrorStream(true)
              .start();
      cc.getInputStream().readAllBytes();
      return cc.waitFor() == 0;
    } catch (IOException noCompiler) {
      return false;
    }
  }

  private static String run(Path directory, String... command)
      throws IOException, InterruptedException {
    Process process =
        new ProcessBuilder(command).directory(directory.toFile()).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), () -> String.join(" ", command) + ":\n" + output);
    return output;
  }

  private static String lines(Map<String, Long> values) {
    StringBuilder lines = new StringBuilder();
    values.forEach((name, value) -> lines.append(name).append('=').append(value).append('\n'));
    return lines.toString();
  }
}
