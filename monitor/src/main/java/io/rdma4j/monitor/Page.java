package io.rdma4j.monitor;

import java.io.IOException;

/** Answers requests for one path. Called by several threads at once. */
@FunctionalInterface
interface Page {
  Response answer(Query query) throws IOException, Query.BadRequestException;
}
