package io.rdma4j.pool;

/**
 * What a {@link RegistrationCache} holds and has done. At a quiet point (no thread inside the
 * cache) the parts add up; in between they are each correct but taken one after the other.
 *
 * <pre>
 *   acquisitions  = hits + joined + misses            misses = registrations + failures
 *   registrations = uncached + entries + replaced + evictions + expired + staleDropped + invalidated
 *   registrations = deregistrations + entries + retiring + pending
 * </pre>
 *
 * @param entries registrations that can be found now
 * @param entryBytes bytes in them
 * @param used registrations with users, found or not
 * @param retiring registrations that can not be found any more and end with their last user
 * @param pending registrations that were ended and that the device has not forgotten yet
 * @param hits acquisitions served by a registration in place
 * @param misses acquisitions that had to register
 * @param joined acquisitions that waited for another thread's registration
 * @param failures registrations that the device refused
 * @param registrations registrations made so far
 * @param deregistrations registrations that the device has forgotten
 * @param deregistrationFailures calls to deregister that the device refused; each is tried again
 * @param uncached registrations that could never be found: no room for them, or they were
 *     invalidated or outdone by a wider one while being made
 * @param merges registrations that took in their neighbours
 * @param replaced registrations made superfluous by a wider one
 * @param evictions unused registrations ended to make room
 * @param expired registrations ended because nobody used them for long
 * @param staleDropped registrations dropped because their arena was closed
 * @param invalidated registrations dropped by the application, or by the close of the cache
 */
public record RegistrationCacheStatistics(
    int entries,
    long entryBytes,
    int used,
    int retiring,
    int pending,
    long hits,
    long misses,
    long joined,
    long failures,
    long registrations,
    long deregistrations,
    long deregistrationFailures,
    long uncached,
    long merges,
    long replaced,
    long evictions,
    long expired,
    long staleDropped,
    long invalidated) {

  /** Returns the acquisitions so far, failed ones included. */
  public long acquisitions() {
    return hits + joined + misses;
  }

  /**
   * Returns the share of acquisitions that found a registration in place, 1 when there were none.
   */
  public double hitRate() {
    long acquisitions = acquisitions();
    return acquisitions == 0 ? 1.0 : (double) hits / acquisitions;
  }
}
