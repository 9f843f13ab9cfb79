package io.rdma4j.testkit.verbs;

import io.rdma4j.VerbsException;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which calls a scripted stack refuses, by the name of the C function, for example {@code
 * ibv_create_cq} or {@code rdma_bind_addr}.
 *
 * <p>Safe for use by several threads. Looking up allocates nothing.
 */
public final class Faults {
  private final Map<String, Script> scripts = new HashMap<>();

  /** An answer other than success; a posted list is taken up to {@code accepted} all the same. */
  private record Refusal(int errno, int accepted) {}

  private static final class Script {
    private final Map<Integer, Refusal> byCall = new HashMap<>();
    private @Nullable Refusal always;
    private @Nullable Refusal now;
    private int callsMade;
  }

  Faults() {}

  /** Refuses the next call of a function. */
  public void refuseNext(String call, int errno) {
    refuseNth(call, 1, errno);
  }

  /** Refuses the n-th call of a function, counted from now, starting with 1. */
  public synchronized void refuseNth(String call, int n, int errno) {
    Script script = script(call);
    script.byCall.put(script.callsMade + n, new Refusal(errno, 0));
  }

  /** Lets the next post take {@code accepted} requests of its list and refuse the one after. */
  public synchronized void acceptOnly(String call, int accepted, int errno) {
    Script script = script(call);
    script.byCall.put(script.callsMade + 1, new Refusal(errno, accepted));
  }

  /** Refuses every call of a function until {@link #clear}. */
  public synchronized void refuseAlways(String call, int errno) {
    script(call).always = new Refusal(errno, 0);
  }

  /** Forgets all refusals. */
  public synchronized void clear() {
    for (Script script : scripts.values()) {
      script.byCall.clear();
      script.always = null;
    }
  }

  /** Returns how often a function was called, refused calls included. */
  public synchronized int callsMade(String call) {
    return script(call).callsMade;
  }

  private Script script(String call) {
    Script script = scripts.get(call);
    if (script == null) {
      script = new Script();
      scripts.put(call, script);
    }
    return script;
  }

  /** Counts a call and returns the errno it is refused with, 0 when it may go on. */
  synchronized int errnoOf(String call) {
    Script script = script(call);
    script.callsMade++;
    Refusal refusal = script.byCall.isEmpty() ? null : script.byCall.remove(script.callsMade);
    script.now = refusal == null ? script.always : refusal;
    return script.now == null ? 0 : script.now.errno;
  }

  /**
   * Returns how many requests of a list are taken by the post {@link #errnoOf} has just refused.
   */
  synchronized int acceptedOf(String call) {
    Refusal now = script(call).now;
    return now == null ? 0 : now.accepted;
  }

  /** Counts a call and throws when it is refused. */
  void enter(String call, Object object) {
    int errno = errnoOf(call);
    if (errno != 0) {
      throw failure(call, errno, object + ": refused by the script");
    }
  }

  static VerbsException failure(String call, int errno, String detail) {
    return new VerbsException(call, errno, call + ", " + detail + ", errno " + errno);
  }
}
