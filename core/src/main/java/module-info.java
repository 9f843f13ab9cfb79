import org.jspecify.annotations.NullMarked;

/** RDMA for the JVM: verbs binding, registered-memory pool, message transport. */
@NullMarked
module io.rdma4j.core {
  requires jdk.jfr;
  requires static org.jspecify;

  exports io.rdma4j;
  exports io.rdma4j.host;
  exports io.rdma4j.verbs;
  exports io.rdma4j.pool;
  exports io.rdma4j.provider;
  exports io.rdma4j.status;
  exports io.rdma4j.transport;
}
