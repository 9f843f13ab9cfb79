/** A program that posts its own work requests, with the pool for its memory. */
package io.rdma4j.examples.verbs;
