package io.rdma4j.tools.top;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.jr.ob.JSON;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class NodeScreenTest {
  private static NodePicture picture(String points, int sent, @Nullable NodePicture before)
      throws IOException {
    String message =
        """
        {"points":%s,
         "health":{"status":"DEGRADED","findings":[
           {"id":"x","level":"DEGRADED","text":"connections ended: peer lost: 1 in 15 s"}]},
         "snapshot":{"metrics":[{"name":"rdma4j_pool_bytes","samples":[
           {"labels":{"size_class":"8192","node":"unknown","state":"used"},"value":16384},
           {"labels":{"size_class":"receive_65536","node":"unknown","state":"free"},"value":65536}]}]},
         "tables":{"connections":{"leftOut":7,"rows":[
           {"id":1,"peer":"10.0.0.7:41002","path":"verbs","state":"OPEN","queue_pair":17,
            "queue_pair_state":"RTS","age_seconds":61.5,"messages_sent":%d,"messages_received":20,
            "requests_outstanding":2,"back_pressured":0,"path_changes":1},
           {"id":2,"peer":"evil\\u001b[2J:1","path":"tcp","state":"SUSPENDED","queue_pair":null,
            "queue_pair_state":null,"age_seconds":1.0,"messages_sent":0,"messages_received":0,
            "requests_outstanding":0,"back_pressured":3,"path_changes":0}]}},
         "incidents":[{"headline":"incident 4: port down"}]}
        """
            .formatted(points, sent);
    return NodePicture.of(JSON.std.mapFrom(message), before);
  }

  private static String point(int second, int sentPerSecond) {
    return "{\"epoch_ms\":%d,\"sent_per_second\":%d,\"request_p99_seconds\":0.00025,\"received_per_second\":null}"
        .formatted(second * 1000, sentPerSecond);
  }

  private static List<String> lines(int columns, int rows, boolean unicode) throws IOException {
    NodePicture before = picture("[" + point(1, 10) + "," + point(2, 100) + "]", 100, null);
    NodePicture now = picture(point(4, 50), 300, before);
    return NodeScreen.lines(
        "db-1", before, now, new PoolScreen.Style(columns, rows, false, unicode));
  }

  @Test
  void aFrameShowsWhatTheMonitorSays() throws IOException {
    String frame = String.join("\n", lines(140, 40, true));
    assertTrue(frame.startsWith("rdma4j top   db-1   "), frame);
    for (String part :
        List.of(
            "   DEGRADED\n  connections ended: peer lost: 1 in 15 s\n",
            "sent 50/s   received -   refused -",
            "p50 -   p99 250.0 us",
            "sent         ▂█▅\n",
            "  8 KiB          used 16 KiB",
            "  rx 64 KiB      used 0 B",
            "17 RTS",
            "100/s", // 200 more messages in two seconds
            "and 7 more",
            "incidents\n  incident 4: port down")) {
      assertTrue(frame.contains(part), part + " in\n" + frame);
    }
    assertFalse(frame.contains("\033"), "a peer's text can not steer the terminal");
  }

  @Test
  void linesAreCutToTheTerminal() throws IOException {
    List<String> small = lines(40, 10, false);
    assertEquals(10, small.size());
    assertTrue(small.stream().allMatch(line -> line.length() <= 40), small::toString);
    assertTrue(small.stream().anyMatch(line -> line.equals("sent         :@+")), small::toString);
  }

  @Test
  void aPlainLineSaysItInShort() throws IOException {
    String line = NodeScreen.plain(picture(point(4, 50), 300, null));
    assertTrue(
        line.contains("  DEGRADED  connections 9  sent 50/s  received -  p50 -  p99 250.0 us"),
        line);
  }
}
