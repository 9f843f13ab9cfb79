package io.rdma4j.verbs.ffi;

import static java.lang.foreign.ValueLayout.ADDRESS;

import java.lang.foreign.MemorySegment;

/** Reads what a failed post has written to bad_wr. */
final class BadRequest {
  private BadRequest() {}

  /**
   * Returns the address of the request refused and clears the slot. Some providers fail without
   * naming a request; then none counts as taken.
   *
   * @param slots one pointer for each kind of post
   * @param first address of the first request of the list
   */
  static long take(MemorySegment slots, int index, long first) {
    long refused = slots.getAtIndex(ADDRESS, index).address();
    slots.setAtIndex(ADDRESS, index, MemorySegment.NULL);
    return refused == 0 ? first : refused;
  }
}
