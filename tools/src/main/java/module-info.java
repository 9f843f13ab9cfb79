import org.jspecify.annotations.NullMarked;

/** The {@code rdma4j} command line. */
@NullMarked
module io.rdma4j.tools {
  requires com.fasterxml.jackson.jr.ob;
  requires info.picocli;
  requires io.rdma4j.core;
  requires io.rdma4j.monitor;
  requires java.management;
  requires java.net.http;
  requires jdk.attach;
  requires jdk.management;
  requires HdrHistogram;
  requires static org.jspecify;

  // picocli fills options by reflection.
  opens io.rdma4j.tools to
      info.picocli;
  opens io.rdma4j.tools.demo to
      info.picocli;
  opens io.rdma4j.tools.doctor to
      info.picocli;
  opens io.rdma4j.tools.journal to
      info.picocli;
  opens io.rdma4j.tools.serve to
      info.picocli;
  opens io.rdma4j.tools.top to
      info.picocli;
}
