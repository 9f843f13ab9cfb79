package io.rdma4j.transport;

/**
 * Hears an answer that comes in parts: any number of {@link #onPart}, then one {@link #onReply},
 * which ends the answer and may be empty, or one {@link #onFailure}.
 *
 * <p>The peer sends as many parts as it was granted: those of the request, and those of {@link
 * Connection#grant}.
 */
public interface StreamHandler extends ReplyHandler {
  /**
   * A part is here. Polling thread.
   *
   * @param context as given with the request
   * @param requestId number of the request, for {@link Connection#grant} and {@link
   *     Connection#cancel}
   * @param part valid during this call only
   */
  void onPart(long context, long requestId, Message part);
}
