package io.rdma4j.bench.transport;

import io.aeron.Aeron;
import io.aeron.ExclusivePublication;
import io.aeron.Publication;
import io.aeron.Subscription;
import io.aeron.logbuffer.FragmentHandler;
import java.io.IOException;
import org.agrona.BitUtil;
import org.agrona.BufferUtil;
import org.agrona.CloseHelper;
import org.agrona.DirectBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.jspecify.annotations.Nullable;

/** An exclusive publication and a subscription. */
final class AeronLink extends Link {
  private static final int FRAGMENTS_PER_POLL = 64;

  private final Aeron aeron;
  private final ExclusivePublication publication;
  private final Subscription subscription;
  private final AutoCloseable driver;
  private final UnsafeBuffer out =
      new UnsafeBuffer(BufferUtil.allocateDirectAligned(MAX_MESSAGE_BYTES, LINE_BYTES));
  private final FragmentHandler handler =
      (buffer, at, lengthBytes, header) -> onFragment(buffer, at, lengthBytes);
  private @Nullable IOException failure;

  AeronLink(
      Aeron aeron,
      ExclusivePublication publication,
      Subscription subscription,
      AutoCloseable driver) {
    this.aeron = aeron;
    this.publication = publication;
    this.subscription = subscription;
    this.driver = driver;
  }

  @Override
  boolean offer(long sequence, long flags, int lengthBytes) throws IOException {
    out.putLong(0, sequence);
    out.putLong(8, flags);
    long result = publication.offer(out, 0, lengthBytes);
    if (result == Publication.CLOSED || result == Publication.NOT_CONNECTED) {
      throw new IOException("Aeron: " + Publication.errorString(result));
    }
    return result >= 0;
  }

  @Override
  void flush() {}

  @Override
  int poll() throws IOException {
    int fragments = subscription.poll(handler, FRAGMENTS_PER_POLL);
    if (failure != null) {
      throw failure;
    }
    return fragments;
  }

  private void onFragment(DirectBuffer buffer, int at, int lengthBytes) {
    long touch = 0;
    for (int i = LINE_BYTES; i + BitUtil.SIZE_OF_LONG <= lengthBytes; i += LINE_BYTES) {
      touch += buffer.getLong(at + i);
    }
    try {
      received(buffer.getLong(at), buffer.getLong(at + 8), lengthBytes, touch);
    } catch (IOException e) {
      failure = e;
    }
  }

  @Override
  public void close() {
    CloseHelper.closeAll(aeron, driver);
  }

  @Override
  public String toString() {
    return "Aeron stream " + publication.streamId();
  }
}
