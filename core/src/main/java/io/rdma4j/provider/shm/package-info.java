/**
 * Messages between two processes of one host through two rings in a shared file.
 *
 * <p>Life of a message: {@link io.rdma4j.provider.shm.RingWriter} copies it into a record and
 * publishes the record's commit word; the peer's {@link io.rdma4j.provider.shm.RingReader}, which
 * spins on exactly that word, hands it to the listener in place. Space goes back in batches.
 *
 * <p>Access modes of the shared words:
 *
 * <pre>
 *  word                written by                         read by
 *  commit word         writer, release, as the last of    reader, acquire
 *                      its record
 *  start of each line  reader, 0, plain, when the record  as what it is in the next round
 *  of a record         was delivered
 *  consumer position   reader, release, after zeroing     writer, acquire, only when its cached
 *                                                         copy says full
 *  closed flag         its endpoint, release, once        the other endpoint, acquire, when idle
 *  sleeps flag         its endpoint: 1, volatile, before  the other endpoint, acquire, after a send;
 *                      sleep; 0, release, after it        cleared by get-and-set, then it rings
 * </pre>
 */
@NullMarked
package io.rdma4j.provider.shm;

import org.jspecify.annotations.NullMarked;
