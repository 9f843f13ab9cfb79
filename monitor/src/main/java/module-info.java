import org.jspecify.annotations.NullMarked;

/** Shows what a node's status, events and incidents are to people and to their tools. */
@NullMarked
module io.rdma4j.monitor {
  requires io.rdma4j.core;
  requires static org.jspecify;
}
