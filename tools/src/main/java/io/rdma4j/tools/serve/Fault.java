package io.rdma4j.tools.serve;

import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/** What {@code fault} can do to a node that {@code serve} runs. */
enum Fault {
  /** A peer's process is gone between two instructions. */
  KILL_PEER(false, "kill -9 a peer; it is started anew after some seconds"),
  /** A peer's process lives and does nothing. */
  STOP_PEER(true, "kill -STOP a peer for some seconds"),
  /** A connection ends while requests are under way. */
  CLOSE_CONNECTION(false, "close a connection under load"),
  /** The pool has no buffer left. */
  EXHAUST_POOL(true, "take every buffer of the node's pool for some seconds"),
  /** Replies do not come. */
  STALL_HANDLER(true, "let the handler of requests stand still for some seconds"),
  /** The application's handler is broken. */
  FAIL_HANDLER(true, "let the handler of requests throw for some seconds"),
  /** Somebody who does not speak the protocol. */
  STRANGER(false, "connect and say something else than hello");

  private final boolean lasts;
  private final String meaning;

  Fault(boolean lasts, String meaning) {
    this.lasts = lasts;
    this.meaning = meaning;
  }

  /** Returns whether it goes on for some seconds. */
  boolean lasts() {
    return lasts;
  }

  String meaning() {
    return meaning;
  }

  /** Returns the name on the command line. */
  String word() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  static Optional<Fault> of(String word) {
    return Stream.of(values()).filter(fault -> fault.word().equals(word)).findFirst();
  }
}
