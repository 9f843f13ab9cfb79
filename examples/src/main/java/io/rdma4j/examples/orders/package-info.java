/** An order-entry service over sockets, and the same one over rdma4j. */
package io.rdma4j.examples.orders;
