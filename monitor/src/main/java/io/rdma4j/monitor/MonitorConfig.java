package io.rdma4j.monitor;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Where a monitor listens and who may ask. Immutable.
 *
 * @param address where to listen; port 0 takes a free one
 * @param token what a request has to bear ({@code Authorization: Bearer TOKEN}); null asks for none
 * @param maxRequests requests at the same time, open streams included; further ones are cut off
 * @param maxRows most rows of a table in an answer; further ones are counted
 */
public record MonitorConfig(
    InetSocketAddress address, @Nullable String token, int maxRequests, int maxRows) {
  /** The port unless another is asked for. */
  public static final int DEFAULT_PORT = 7480;

  private static final int MIN_TOKEN_LENGTH = 16;
  private static final int MOST_REQUESTS = 1024;
  private static final int MOST_ROWS = 100_000;

  /**
   * Checks the values.
   *
   * @throws IllegalArgumentException naming the value that is not allowed, and what is
   */
  public MonitorConfig {
    if (address.isUnresolved()) {
      throw new IllegalArgumentException("host " + address.getHostString() + " is not known");
    }
    if (token != null && (token.length() < MIN_TOKEN_LENGTH || !isVisible(token))) {
      throw new IllegalArgumentException(
          "a token is %d or more visible ASCII characters; this one has %d"
              .formatted(MIN_TOKEN_LENGTH, token.length()));
    }
    requireRange("maxRequests", maxRequests, MOST_REQUESTS);
    requireRange("maxRows", maxRows, MOST_ROWS);
  }

  /** Returns the defaults: this machine alone, port {@value #DEFAULT_PORT}, no token. */
  public static MonitorConfig defaults() {
    return new MonitorConfig(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), DEFAULT_PORT), null, 64, 1000);
  }

  /** Returns these values with another address. */
  public MonitorConfig withAddress(InetSocketAddress other) {
    return new MonitorConfig(other, token, maxRequests, maxRows);
  }

  /** Returns these values with another token. */
  public MonitorConfig withToken(@Nullable String other) {
    return new MonitorConfig(address, other, maxRequests, maxRows);
  }

  /** Returns these values with another bound for requests at the same time. */
  public MonitorConfig withMaxRequests(int other) {
    return new MonitorConfig(address, token, other, maxRows);
  }

  /** Returns these values with another bound for the rows of a table. */
  public MonitorConfig withMaxRows(int other) {
    return new MonitorConfig(address, token, maxRequests, other);
  }

  private static boolean isVisible(String token) {
    return token.chars().allMatch(c -> c > ' ' && c < 127);
  }

  private static void requireRange(String name, int value, int most) {
    if (value < 1 || value > most) {
      throw new IllegalArgumentException(name + " is " + value + ", allowed are 1 to " + most);
    }
  }

  /** Without the token. */
  @Override
  public String toString() {
    return "MonitorConfig[address=%s, token=%s, maxRequests=%d, maxRows=%d]"
        .formatted(address, token == null ? "none" : "set", maxRequests, maxRows);
  }
}
