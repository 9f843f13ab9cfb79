package io.rdma4j.bench.transport;

import io.rdma4j.Availability;
import java.io.IOException;

/** A way for messages between the two processes. Used once in each. */
interface Way {
  /** The end that waits to be connected to. */
  interface Acceptor extends AutoCloseable {
    /** Returns what the other process needs to know, without blanks. */
    String address();

    /** Waits for the other process. What the acceptor has made belongs to the link from here on. */
    Link accept() throws IOException;

    @Override
    void close() throws IOException;
  }

  /** Returns the name in rows and keys, for example {@code socket}. */
  String name();

  /** Returns what it is, in words. */
  String description();

  /** Returns whether it can be used here. Cheap; what shows only when connecting is no answer. */
  Availability availability();

  /** Returns whether it carries messages of any length and number, or one word at a time. */
  default boolean carriesStreams() {
    return true;
  }

  /** Removes what the accepting process may have left behind when it was ended by force. */
  default void removeLeftovers(long pid) throws IOException {}

  Acceptor listen() throws IOException;

  Link connect(String address) throws IOException;
}
