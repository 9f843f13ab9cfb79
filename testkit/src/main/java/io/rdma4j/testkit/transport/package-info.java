/** Contract of nodes and connections, run over every path. */
@NullMarked
package io.rdma4j.testkit.transport;

import org.jspecify.annotations.NullMarked;
