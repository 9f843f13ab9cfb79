package io.rdma4j.os;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

final class PageSizeTest {
  @Test
  void agreesWithTheLibrary() {
    assertEquals(Mapping.pageSizeBytes(), PageSize.bytes());
  }
}
