package io.rdma4j.lab.pair;

/** What the receiver found wrong. */
record Tally(long lost, long duplicated, long corrupted) {
  boolean isClean() {
    return lost == 0 && duplicated == 0 && corrupted == 0;
  }
}
