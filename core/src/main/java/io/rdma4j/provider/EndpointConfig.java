package io.rdma4j.provider;

/**
 * Sizes that both ends of a connection have agreed on.
 *
 * @param maxMessageBytes largest payload of one message
 * @param window messages that may be under way in one direction before the sender is back-pressured
 * @param ringBytes bytes that may be under way where a provider buffers by bytes; at least four
 *     times {@code maxMessageBytes}
 */
public record EndpointConfig(int maxMessageBytes, int window, int ringBytes) {
  /** Validates the sizes. */
  public EndpointConfig {
    if (maxMessageBytes < 1 || window < 1 || ringBytes < 4L * maxMessageBytes) {
      throw new IllegalArgumentException(
          "endpoint needs maxMessageBytes >= 1, window >= 1 and ringBytes >= 4 * maxMessageBytes,"
              + " not "
              + maxMessageBytes
              + ", "
              + window
              + ", "
              + ringBytes);
    }
  }

  /**
   * Checks what a send is asked to carry.
   *
   * @throws IllegalArgumentException naming the values and their limits
   */
  public void requireSendable(int type, int lengthBytes) {
    if ((type & ~0xFF) != 0 || lengthBytes < 0 || lengthBytes > maxMessageBytes) {
      throw refused(type, lengthBytes);
    }
  }

  private IllegalArgumentException refused(int type, int lengthBytes) {
    return new IllegalArgumentException(
        "message of type "
            + type
            + " and "
            + lengthBytes
            + " bytes: types are 0 to 255, lengths 0 to "
            + maxMessageBytes);
  }
}
