/**
 * Events for Java Flight Recorder, under the category RDMA: what is rare and worth a place on the
 * time line beside collections and locks. While no recording asks for an event it costs a look at a
 * flag and allocates nothing.
 */
@NullMarked
package io.rdma4j.jfr;

import org.jspecify.annotations.NullMarked;
