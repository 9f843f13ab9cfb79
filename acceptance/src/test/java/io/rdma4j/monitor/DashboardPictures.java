package io.rdma4j.monitor;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.options.ColorScheme;
import com.microsoft.playwright.options.ScreenshotAnimations;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.RegisteredBuffer;
import io.rdma4j.transport.Connection;
import io.rdma4j.transport.ConnectionHandler;
import io.rdma4j.transport.Node;
import io.rdma4j.transport.NodeConfig;
import io.rdma4j.transport.RequestFailedException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * Takes the pictures of the dashboard that the documentation shows: a node that sends requests to
 * three peers, one of which is killed.
 *
 * <p>Runs when it is told where to put them: {@code -Dpictures=DIR}. docs/HACKING.md has the whole
 * command.
 */
@Timeout(300)
@EnabledIfSystemProperty(named = "pictures", matches = ".+", disabledReason = "no -Dpictures=DIR")
class DashboardPictures {
  private static final ConnectionHandler IGNORE = (connection, message) -> {};
  private static final int MAX_BYTES = 150_000;
  private static final int PEERS = 3;
  private static final int CONNECTIONS_EACH = 2;

  /** So that the charts have something to show. */
  private static final int LOAD_MS = 55_000;

  private static final long TIMEOUT_NS = 10_000_000_000L;
  private static final int[] ORDER_BYTES = {64, 200, 1000, 4000};

  private final Path folder = Path.of(System.getProperty("pictures", ""));
  private volatile boolean ended;

  @Test
  void ofANodeThatLosesAPeer() throws Exception {
    Chromium.require();
    Files.createDirectories(folder);
    List<PeerProcess.Running> peers = new ArrayList<>();
    try (Playwright playwright = Playwright.create();
        Node node = Node.start(config());
        Monitor monitor = Monitor.start(ShownNode.anyPort(), node.metrics(), node.journal())) {
      List<Connection> connections = new ArrayList<>();
      for (int i = 0; i < PEERS; i++) {
        PeerProcess.Running peer = PeerProcess.start();
        peers.add(peer);
        for (int c = 0; c < CONNECTIONS_EACH; c++) {
          connections.add(node.connect(ShownNode.loopback(peer.port()), IGNORE));
        }
      }
      List<RegisteredBuffer> held = new ArrayList<>();
      for (int i = 0; i < 300; i++) {
        held.add(node.pool().allocate(8 << 10 << i % 4));
      }
      Thread load = Thread.ofPlatform().daemon().name("load").start(() -> send(connections));
      Browser browser = Chromium.launch(playwright);
      String url = "http://127.0.0.1:" + monitor.address().getPort() + "/";
      Page desktop = open(browser, url, 1280, 900, ColorScheme.LIGHT, 1);
      desktop.waitForTimeout(LOAD_MS);
      assertThat(desktop.locator("#connection-table tbody tr")).hasCount(6);
      peers.getFirst().kill();
      assertThat(desktop.locator("#incident-list summary").first()).containsText("cause:");
      assertThat(desktop.locator("#connection-table tbody tr")).hasCount(4);
      desktop.waitForTimeout(3000);
      save("overview-light", desktop.screenshot(shot()));
      desktop.close();
      Page dark = open(browser, url, 1280, 900, ColorScheme.DARK, 1);
      dark.locator("#incident-list summary").first().click();
      save("incident-dark", dark.locator("#incidents").screenshot());
      save("pool-dark", dark.locator("#pool").screenshot());
      dark.close();
      Page phone = open(browser, url, 390, 844, ColorScheme.LIGHT, 2);
      save("phone-light", phone.screenshot(shot()));
      phone.close();
      ended = true;
      load.join();
      held.forEach(RegisteredBuffer::close);
    } finally {
      ended = true;
      peers.forEach(PeerProcess.Running::kill);
    }
  }

  private static NodeConfig config() {
    return NodeConfig.builder()
        .paths("shm", "tcp")
        .pool(PoolConfig.builder().maxBytes(64L << 20).build())
        .build();
  }

  /** More and less by turns, as day and night would. */
  private void send(List<Connection> connections) {
    MemorySegment order = MemorySegment.ofArray(new byte[4000]);
    long startNs = System.nanoTime();
    for (int i = 0; !ended; i++) {
      Connection connection = connections.get(i % connections.size());
      if (connection.isOpen()) {
        try {
          int lengthBytes = ORDER_BYTES[i / 7 % ORDER_BYTES.length];
          connection.request(order, 0, lengthBytes, TIMEOUT_NS).close();
        } catch (RequestFailedException e) {
          System.out.println("as intended, once a peer is killed: " + e.getMessage());
        }
      }
      double wave = Math.sin((System.nanoTime() - startNs) / 4e9);
      LockSupport.parkNanos((long) (300_000 + 200_000 * wave));
    }
  }

  private static Page open(
      Browser browser, String url, int width, int height, ColorScheme scheme, int scale) {
    BrowserContext context =
        browser.newContext(
            new Browser.NewContextOptions()
                .setViewportSize(width, height)
                .setColorScheme(scheme)
                .setDeviceScaleFactor(scale)
                .setHasTouch(width < 500));
    context.setDefaultTimeout(Chromium.LIMIT_MS);
    Page page = context.newPage();
    page.navigate(url);
    assertThat(page.locator("#connection-table tbody tr").first()).isVisible();
    page.waitForTimeout(2500);
    return page;
  }

  private static Page.ScreenshotOptions shot() {
    return new Page.ScreenshotOptions().setAnimations(ScreenshotAnimations.DISABLED);
  }

  private void save(String name, byte[] png) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    ImageIO.write(Palette.reduce(ImageIO.read(new ByteArrayInputStream(png))), "png", bytes);
    Path file = folder.resolve("dashboard-" + name + ".png");
    System.out.println(file + ": " + bytes.size() + " bytes");
    assertTrue(bytes.size() <= MAX_BYTES, file + " has " + bytes.size() + " bytes");
    Files.write(file, bytes.toByteArray());
  }
}
