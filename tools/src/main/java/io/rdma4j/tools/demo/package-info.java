/** The demo: an order gateway and a database node, over sockets and over every path there is. */
@NullMarked
package io.rdma4j.tools.demo;

import org.jspecify.annotations.NullMarked;
