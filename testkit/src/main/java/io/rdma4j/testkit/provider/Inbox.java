package io.rdma4j.testkit.provider;

import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.EndpointListener;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A listener that keeps copies of everything it is told.
 *
 * <p>Single thread only.
 */
public final class Inbox implements EndpointListener {
  /** For closing an endpoint whose tokens no one cares about. */
  public static final EndpointListener IGNORE_TOKENS = new IgnoreTokens();

  private final List<Message> messages = new ArrayList<>();
  private final List<Long> sentTokens = new ArrayList<>();
  private final List<EndpointFailure> failures = new ArrayList<>();

  /** A message as it arrived. */
  public record Message(int type, long correlationId, byte[] payload) {}

  @Override
  public void onMessage(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    byte[] payload = memory.asSlice(offset, lengthBytes).toArray(ValueLayout.JAVA_BYTE);
    messages.add(new Message(type, correlationId, payload));
  }

  @Override
  public void onSent(long token) {
    sentTokens.add(token);
  }

  @Override
  public void onFailure(EndpointFailure cause) {
    failures.add(cause);
  }

  /** Returns the messages in the order of their arrival. */
  public List<Message> messages() {
    return messages;
  }

  /** Returns the tokens in the order in which they came back. */
  public List<Long> sentTokens() {
    return sentTokens;
  }

  /** Returns every failure reported; the contract allows one. */
  public List<EndpointFailure> failures() {
    return failures;
  }

  /** Returns the first failure, null when there was none. */
  public @Nullable EndpointFailure failure() {
    return failures.isEmpty() ? null : failures.getFirst();
  }

  private static final class IgnoreTokens implements EndpointListener {
    @Override
    public void onMessage(
        int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
      throw new AssertionError("message of type " + type + " delivered by close");
    }

    @Override
    public void onSent(long token) {}

    @Override
    public void onFailure(EndpointFailure cause) {
      throw new AssertionError("failure reported by close: " + cause);
    }
  }
}
