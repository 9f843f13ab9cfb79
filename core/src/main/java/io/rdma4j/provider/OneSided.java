package io.rdma4j.provider;

/**
 * Reads, writes and atomics that the device carries out on the peer's memory, without its
 * processors: what an {@link Endpoint} may be capable of.
 *
 * <p>Threads are those of {@link Endpoint}: starting is sending, and the end is told by the poll,
 * to {@link EndpointListener#onRemoteEnd}. Starting allocates nothing.
 *
 * <p>Operations and messages of one endpoint take effect at the peer in the order in which they
 * were started, except that a read may see what was started behind it. Once a write or an atomic
 * has ended, the peer's processors see its effect; a message sent behind it arrives behind it.
 *
 * <p>A peer's device that refuses an operation, for its key, bounds or rights, ends the whole path.
 * So callers check first, and make sure that the peer's registration outlives what was started.
 */
public interface OneSided {
  /** Reads the peer's memory. */
  int READ = 1;

  /** Writes the peer's memory. */
  int WRITE = 2;

  /** Writes, then tells the peer's {@link EndpointListener#onImmediate}. */
  int WRITE_IMMEDIATE = 3;

  /** Adds to a word of 8 bytes. */
  int FETCH_ADD = 4;

  /** Replaces a word of 8 bytes when it is as expected. */
  int COMPARE_AND_SWAP = 5;

  /** It was carried out, and what it read is there. */
  int DONE = 0;

  /** The peer's device refused it. The path has ended with it. */
  int REFUSED = 1;

  /** The path ended first: it may have been carried out or not. */
  int UNKNOWN = 2;

  /** Returns a number that both ends of this path, and most likely no other path, have. */
  long pathId();

  /** Returns the most that one operation reads or writes. */
  int maxTransferBytes();

  /** Returns how many reads and atomics may be under way at once; further ones find no room. */
  int maxReadsUnderWay();

  /** Returns whether this side's device can start atomics. */
  boolean startsAtomics();

  /**
   * Returns whether atomics that the peer starts are atomic towards this side's processors too, and
   * not only towards other operations of the device.
   */
  boolean servesAtomics();

  /**
   * Starts an operation.
   *
   * @param opcode one of {@link #READ} to {@link #COMPARE_AND_SWAP}
   * @param remoteAddress start of the peer's memory; a multiple of 8 for atomics
   * @param rkey the peer's key for it
   * @param localAddress where a read and the old word of an atomic go, and a write comes from;
   *     belongs to the endpoint until the end is told
   * @param lengthBytes 1 to {@link #maxTransferBytes()}, 8 for atomics
   * @param lkey key of {@link Endpoint#registrar()} for the local memory
   * @param operand immediate data in its low 32 bits, addend, or expected word
   * @param desired new word of a compare-and-swap
   * @param token not negative; told at the end
   * @return {@link io.rdma4j.SendResult}; BACK_PRESSURED also when too many are under way
   */
  long start(
      int opcode,
      long remoteAddress,
      int rkey,
      long localAddress,
      int lengthBytes,
      int lkey,
      long operand,
      long desired,
      long token);
}
