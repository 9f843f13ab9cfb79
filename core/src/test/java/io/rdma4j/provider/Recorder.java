package io.rdma4j.provider;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** A listener that keeps all it is told. Single thread only. */
public final class Recorder implements EndpointListener {
  /** A message with a copy of its payload. */
  public record Message(int type, long correlationId, byte[] payload) {}

  /** Messages in the order of their arrival. */
  public final List<Message> messages = new ArrayList<>();

  /** Tokens in the order they came back. */
  public final List<Long> tokens = new ArrayList<>();

  /** Failures reported. */
  public final List<EndpointFailure> failures = new ArrayList<>();

  /** Creates an empty one. */
  public Recorder() {}

  @Override
  public void onMessage(
      int type, long correlationId, MemorySegment memory, long offset, int lengthBytes) {
    byte[] payload = memory.asSlice(offset, lengthBytes).toArray(JAVA_BYTE);
    messages.add(new Message(type, correlationId, payload));
  }

  @Override
  public void onSent(long token) {
    tokens.add(token);
  }

  @Override
  public void onFailure(EndpointFailure cause) {
    failures.add(cause);
  }
}
