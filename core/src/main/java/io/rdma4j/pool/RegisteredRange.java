package io.rdma4j.pool;

/**
 * Memory of a pool that each device knows by one key: a slab, or a segment of a large object.
 *
 * <p>Immutable, for any thread. Keys are in force as long as the caller holds some of the memory (a
 * lease, a handle, a large buffer, an open arena); a range that was kept for longer may name memory
 * that is gone.
 */
public interface RegisteredRange {
  /** Returns the start address. */
  long address();

  /** Returns the length. */
  long lengthBytes();

  /** Returns the local key with the registrar at that place in the pool's list. */
  int lkey(int registrarIndex);

  /** Returns the remote key with the registrar at that place in the pool's list. */
  int rkey(int registrarIndex);

  /** Returns true when all of that memory is in this range, and so has its keys. */
  default boolean contains(long address, long lengthBytes) {
    long offset = address - address();
    return offset >= 0 && lengthBytes >= 0 && offset <= lengthBytes() - lengthBytes;
  }
}
