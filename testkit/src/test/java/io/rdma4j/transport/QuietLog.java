package io.rdma4j.transport;

import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Keeps what the transport logs about faults that are meant out of the output of a test. */
final class QuietLog implements BeforeAllCallback, AfterAllCallback {
  private static final Logger LOG = Logger.getLogger("io.rdma4j");

  private @Nullable Level before;

  @Override
  public void beforeAll(ExtensionContext context) {
    before = LOG.getLevel();
    LOG.setLevel(Level.OFF);
  }

  @Override
  public void afterAll(ExtensionContext context) {
    LOG.setLevel(before);
  }
}
