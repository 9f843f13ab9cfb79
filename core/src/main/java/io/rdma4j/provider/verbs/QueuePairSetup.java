package io.rdma4j.provider.verbs;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.DeviceAttributes;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import java.io.IOException;

/**
 * Makes what an endpoint needs from the device before the connection exists: completion queue,
 * queue pair, registered slots, all receives posted.
 *
 * <p>The completion queue has an entry for every request of both queues, so it can not overrun.
 */
final class QueuePairSetup {
  /** Header and a payload of 220 bytes; a device that has less room inline gives what it has. */
  private static final int WISHED_INLINE_BYTES = MessageHeader.BYTES + 220;

  private QueuePairSetup() {}

  /** Makes an endpoint that is not connected yet; what it is made of goes onto the stack. */
  static VerbsEndpoint open(
      DeviceContext context, CmId id, EndpointConfig config, String peer, ResourceStack stack)
      throws IOException {
    DeviceAttributes limits = context.device().attributes();
    int window = config.window();
    int receiveCount = window + ReceiveSide.CONTROL_RECEIVES;
    int sendCount = Math.min(window + SendSide.CONTROL_SENDS, limits.maxQueuePairWorkRequests());
    // Header and payload lie apart in a registered send; a device that can not gather gets a copy.
    int gatherEntries = Math.min(2, limits.maxSge());
    checkSizes(context, limits, config, sendCount, receiveCount);
    SlotMemory slots =
        stack.own(
            new SlotMemory(context.domain(), sendCount, receiveCount, config.maxMessageBytes()));
    CompletionChannel channel = stack.own(context.device().createCompletionChannel());
    CompletionQueue completions =
        stack.own(context.device().createCompletionQueue(sendCount + receiveCount, channel, 0));
    // Now rather than at the first sleep: a device that can not do it is another path's turn.
    completions.requestNotification(false);
    String moderation = moderate(completions, context.settings());
    QueuePair queuePair =
        stack.own(
            id.createQueuePair(
                context.domain(),
                new QueuePairConfig(
                    completions,
                    completions,
                    sendCount,
                    receiveCount,
                    gatherEntries,
                    1,
                    WISHED_INLINE_BYTES,
                    null)));
    ReceiveSide receives = stack.own(new ReceiveSide(queuePair, slots, window));
    SendSide sends =
        stack.own(
            new SendSide(
                queuePair,
                slots,
                receives,
                sendCount,
                window,
                gatherEntries,
                tuner(context.settings(), sendCount)));
    receives.postAll();
    return new VerbsEndpoint(
        context,
        id,
        peer + moderation,
        config,
        channel,
        completions,
        queuePair,
        slots,
        sends,
        receives,
        stack);
  }

  /** Returns what has become of the wish, for the description of the path. */
  private static String moderate(CompletionQueue completions, VerbsSettings settings) {
    if (!settings.moderates()) {
      return "";
    }
    boolean done = completions.moderate(settings.moderationCount(), settings.moderationPeriodUs());
    return done
        ? ", an event for "
            + settings.moderationCount()
            + " completions or "
            + settings.moderationPeriodUs()
            + " us"
        : ", events not moderated: the device does not offer it";
  }

  private static BatchTuner tuner(VerbsSettings settings, int sendCount) {
    int most = Math.min(VerbsSettings.MAX_SEND_BATCH, SendBatch.mostRequests(sendCount));
    return settings.sendBatch() == VerbsSettings.AUTO
        ? BatchTuner.measuring(NanoClock.SYSTEM, most)
        : BatchTuner.fixed(settings.sendBatch(), most);
  }

  private static void checkSizes(
      DeviceContext context,
      DeviceAttributes limits,
      EndpointConfig config,
      int sendCount,
      int receiveCount)
      throws IOException {
    if (config.window() > MessageHeader.MAX_WINDOW
        || receiveCount > limits.maxQueuePairWorkRequests()
        || sendCount <= SendSide.CONTROL_SENDS) {
      throw new IOException(
          String.format(
              "a window of %d messages needs %d receives; device %s has queues of %d requests, and"
                  + " this provider windows up to %d: lower the window",
              config.window(),
              receiveCount,
              context.name(),
              limits.maxQueuePairWorkRequests(),
              MessageHeader.MAX_WINDOW));
    }
    if (config.maxMessageBytes() > Integer.MAX_VALUE - 4096) {
      throw new IOException("maxMessageBytes " + config.maxMessageBytes() + " leaves no header");
    }
  }
}
