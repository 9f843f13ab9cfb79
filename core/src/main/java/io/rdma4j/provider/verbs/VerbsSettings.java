package io.rdma4j.provider.verbs;

/**
 * What can be set on the verbs path.
 *
 * <pre>
 *  system property                      default
 *  rdma4j.verbs.sendBatch               auto      requests of one doorbell, 1 to 128, or auto
 *  rdma4j.verbs.moderationCount         0         completions that one event may stand for, to 65535
 *  rdma4j.verbs.moderationPeriodUs      0         the longest that an event waits for them, to 65535
 *  rdma4j.verbs.devices                 all       ports to use: mlx5_0 or mlx5_1:2, with commas between
 *  rdma4j.verbs.gidIndex                address   entry of their GID tables, 0 to 255, or by address
 * </pre>
 *
 * @param sendBatch requests of one doorbell, less where the send queue is short; {@link #AUTO}
 *     measures what pays
 * @param moderationCount completions that one event may stand for; 0 with a period of 0 leaves the
 *     device as it is
 * @param moderationPeriodUs the longest that an event waits for them, in microseconds
 * @param sharedReceives receives that all peers of a device share at most, {@link
 *     #LEAST_SHARED_RECEIVES} or more; 0 gives each peer receives of its own
 * @param ports which of the machine's ports connections may use
 */
public record VerbsSettings(
    int sendBatch,
    int moderationCount,
    int moderationPeriodUs,
    int sharedReceives,
    PortRestriction ports) {
  /** For {@link #sendBatch}: start with 16 and measure. */
  public static final int AUTO = 0;

  /** Largest {@link #sendBatch}. */
  public static final int MAX_SEND_BATCH = 128;

  /** Least {@link #sharedReceives} that are not 0. */
  public static final int LEAST_SHARED_RECEIVES = 64;

  /** Most {@link #sharedReceives}. */
  public static final int MAX_SHARED_RECEIVES = 1 << 16;

  static final String DEVICES = "rdma4j.verbs.devices";
  static final String GID_INDEX = "rdma4j.verbs.gidIndex";
  private static final String SEND_BATCH = "rdma4j.verbs.sendBatch";
  private static final String MODERATION_COUNT = "rdma4j.verbs.moderationCount";
  private static final String MODERATION_PERIOD_US = "rdma4j.verbs.moderationPeriodUs";
  private static final int MAX_MODERATION = 0xffff;

  /** Validates the settings. */
  public VerbsSettings {
    check(SEND_BATCH, sendBatch, MAX_SEND_BATCH);
    check(MODERATION_COUNT, moderationCount, MAX_MODERATION);
    check(MODERATION_PERIOD_US, moderationPeriodUs, MAX_MODERATION);
    if (sharedReceives != 0
        && (sharedReceives < LEAST_SHARED_RECEIVES || sharedReceives > MAX_SHARED_RECEIVES)) {
      throw new IllegalArgumentException(
          "sharedReceives is "
              + sharedReceives
              + ", allowed: 0 or "
              + LEAST_SHARED_RECEIVES
              + " to "
              + MAX_SHARED_RECEIVES);
    }
  }

  /** Settings with receives of each peer's own, and every port. */
  public VerbsSettings(int sendBatch, int moderationCount, int moderationPeriodUs) {
    this(sendBatch, moderationCount, moderationPeriodUs, 0, PortRestriction.NONE);
  }

  /**
   * Reads the system properties; those of receiving are the node's.
   *
   * @throws IllegalArgumentException naming property, value and limits
   */
  public static VerbsSettings fromProperties() {
    return new VerbsSettings(
        number(SEND_BATCH, "auto", AUTO, MAX_SEND_BATCH),
        number(MODERATION_COUNT, "0", 0, MAX_MODERATION),
        number(MODERATION_PERIOD_US, "0", 0, MAX_MODERATION),
        0,
        PortRestriction.parse(
            System.getProperty(DEVICES, ""),
            number(
                GID_INDEX,
                "address",
                PortRestriction.GID_BY_ADDRESS,
                PortRestriction.MAX_GID_INDEX)));
  }

  /** Returns these settings with another number of shared receives. */
  public VerbsSettings withSharedReceives(int receives) {
    return new VerbsSettings(sendBatch, moderationCount, moderationPeriodUs, receives, ports);
  }

  /** Returns these settings for other ports. */
  public VerbsSettings withPorts(PortRestriction others) {
    return new VerbsSettings(
        sendBatch, moderationCount, moderationPeriodUs, sharedReceives, others);
  }

  private static int number(String property, String word, int ofWord, int most) {
    String text = System.getProperty(property, word);
    if (text.equals(word)) {
      return ofWord;
    }
    try {
      return Integer.parseInt(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          property + " is '" + text + "', allowed: " + word + " or a number up to " + most, e);
    }
  }

  private static void check(String property, int value, int most) {
    if (value < 0 || value > most) {
      throw new IllegalArgumentException(property + " is " + value + ", allowed: 0 to " + most);
    }
  }

  /** Returns whether events shall be moderated. */
  boolean moderates() {
    return moderationCount > 0 || moderationPeriodUs > 0;
  }
}
