package io.rdma4j.provider.verbs;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.ReceiveMemory;
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

  /**
   * Makes an endpoint that is not connected yet; what it is made of goes onto the stack.
   *
   * @param firstCredits data messages that the peer has receives for at the start
   */
  static VerbsEndpoint open(
      DeviceContext context,
      CmId id,
      EndpointConfig config,
      int firstCredits,
      String peer,
      ResourceStack stack)
      throws IOException {
    DeviceAttributes limits = context.device().attributes();
    int window = config.window();
    int receiveCount = window + ReceiveSide.CONTROL_RECEIVES;
    int sendCount = Math.min(window + SendSide.CONTROL_SENDS, limits.maxQueuePairWorkRequests());
    // Header and payload lie apart in a registered send; a device that can not gather gets a copy.
    int sendEntries = Math.min(2, limits.maxSge());
    checkSizes(context, limits, config, sendCount, receiveCount);
    SlotMemory slots =
        stack.own(
            new SlotMemory(
                context.domain(),
                sendCount,
                MessageHeader.BYTES + (long) config.maxMessageBytes()));
    CompletionChannel channel = stack.own(context.device().createCompletionChannel());
    CompletionQueue completions =
        stack.own(context.device().createCompletionQueue(sendCount + receiveCount, channel, 0));
    // Now rather than at the first sleep: a device that can not do it is another path's turn.
    completions.requestNotification(false);
    String moderation = moderate(completions, context.settings());
    SharedReceiveSide shared =
        context.settings().sharedReceives() == 0
            ? null
            : stack.own(SharedReceiveSide.join(context, window));
    QueuePairConfig wanted =
        new QueuePairConfig(
            completions,
            completions,
            sendCount,
            shared == null ? receiveCount : 0,
            sendEntries,
            sendEntries,
            WISHED_INLINE_BYTES,
            shared == null ? null : shared.queue());
    QueuePair queuePair = stack.own(id.createQueuePair(context.domain(), wanted));
    ReceiveSide receives =
        shared == null ? ownReceives(context, queuePair, config, sendEntries > 1, stack) : shared;
    SendSide sends =
        stack.own(
            new SendSide(
                queuePair,
                slots,
                receives,
                sendCount,
                firstCredits,
                sendEntries,
                tuner(context.settings(), sendCount)));
    return new VerbsEndpoint(
        context,
        id,
        peer + moderation + (shared == null ? "" : ", receives shared with other peers"),
        config,
        channel,
        wanted,
        queuePair,
        sends,
        receives,
        stack);
  }

  /** Gives a queue pair receives of its own and posts them. */
  private static OwnReceives ownReceives(
      DeviceContext context,
      QueuePair queuePair,
      EndpointConfig config,
      boolean scatters,
      ResourceStack stack)
      throws IOException {
    int count = config.window() + ReceiveSide.CONTROL_RECEIVES;
    int maxMessageBytes = config.maxMessageBytes();
    ReceiveMemory memory = context.receiveMemory();
    if (memory == null) {
      int blockBytes = ReceiveSlots.blockBytes(maxMessageBytes, scatters);
      memory =
          stack.own(new PrivateReceiveMemory(context.domain(), count, blockBytes, maxMessageBytes));
    }
    ReceiveSlots slots =
        new ReceiveSlots(memory, context, context.domain(), count, maxMessageBytes, scatters);
    // What the device may still write into stays here: blocks go back behind the queue pair only.
    stack.own(
        () -> {
          queuePair.close();
          slots.close();
        });
    OwnReceives receives = stack.own(new OwnReceives(queuePair, slots, config.window()));
    receives.postFirst();
    return receives;
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
