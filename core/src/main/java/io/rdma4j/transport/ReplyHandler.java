package io.rdma4j.transport;

/**
 * Hears how a request ends: exactly one call for each request that was taken. One object may serve
 * many requests; {@code context} tells them apart.
 *
 * <p>Replies are told on the polling thread. A failure is told on the thread that finds it: the
 * polling thread, the node's background thread at the deadline, or whoever cancels. Calls must be
 * short. An exception thrown here is logged and changes nothing.
 */
public interface ReplyHandler {
  /**
   * The reply is here.
   *
   * @param context as given with the request
   * @param reply valid during this call only
   */
  void onReply(long context, Message reply);

  /**
   * There will be no reply.
   *
   * @param context as given with the request
   * @param message the reason, for people
   */
  void onFailure(long context, RequestFailedException.Cause cause, String message);
}
