import org.jspecify.annotations.NullMarked;

/** Programs to learn from; each uses the public API alone. */
@NullMarked
module io.rdma4j.examples {
  requires io.rdma4j.core;
  requires static org.jspecify;
}
