package io.rdma4j.monitor;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserType;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.assertions.PlaywrightAssertions;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** The system's browser. */
final class Chromium {
  /** How long it may take for anything. */
  static final int LIMIT_MS = 60_000;

  private Chromium() {}

  /** Starts it, or skips the test where there is none. Ends with {@code playwright}. */
  static Browser launch(Playwright playwright) {
    PlaywrightAssertions.setDefaultAssertionTimeout(LIMIT_MS);
    return playwright
        .chromium()
        .launch(
            new BrowserType.LaunchOptions()
                .setExecutablePath(require())
                // As root in a container, which CI often is, it has no sandbox of its own.
                .setArgs(List.of("--no-sandbox", "--disable-gpu"))
                .setTimeout(LIMIT_MS));
  }

  /** Skips the test where there is no browser. */
  static Path require() {
    Optional<Path> chromium =
        Stream.of("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
            .map(Path::of)
            .filter(Files::isExecutable)
            .findFirst();
    assumeTrue(chromium.isPresent(), "no Chromium here; install it: apt-get install chromium");
    return chromium.orElseThrow();
  }
}
