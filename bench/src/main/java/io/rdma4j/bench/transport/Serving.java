package io.rdma4j.bench.transport;

import java.io.IOException;

/** The peer's side of a {@link Loop}. */
interface Serving {
  /** Answers over the link until a message says stop. */
  void serve() throws IOException;
}
