package io.rdma4j.verbs.ffi;

/** What a {@link NativeObject} closes before itself. */
interface Child extends AutoCloseable {
  /** Order of closing among siblings, lowest first: users before what they use. */
  int closeRank();

  @Override
  void close();
}
