package io.rdma4j.pool;

/**
 * What a pool holds and has done above its largest block size. At a quiet point the parts add up:
 * {@code registeredBytes = usedBytes + idleBytes + pendingBytes} and {@code requests = hits +
 * misses + exhausted + failures}.
 *
 * @param objects large objects registered now, or being registered
 * @param registering objects of those that are not registered as a whole yet
 * @param registeredBytes bytes in all of them; these count towards the pool's budget
 * @param usedObjects objects that callers have
 * @param usedBytes bytes in those
 * @param idleBytes bytes kept registered for the next request
 * @param pendingBytes bytes kept as well, but soon to be given back
 * @param leavingBytes bytes out of the pool that a device has not forgotten yet
 * @param requests large requests so far
 * @param hits requests that got an object which was registered already
 * @param misses requests that waited for a registration
 * @param exhausted requests refused because the budget was spent
 * @param failures requests that failed because a device or the kernel refused
 * @param expansions objects registered in the background, ahead of a request
 * @param failedExpansions of those, how many were refused
 * @param trims objects given back so far
 */
public record LargeStatistics(
    int objects,
    int registering,
    long registeredBytes,
    int usedObjects,
    long usedBytes,
    long idleBytes,
    long pendingBytes,
    long leavingBytes,
    long requests,
    long hits,
    long misses,
    long exhausted,
    long failures,
    long expansions,
    long failedExpansions,
    long trims) {}
