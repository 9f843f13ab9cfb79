package io.rdma4j.monitor;

import static com.microsoft.playwright.assertions.PlaywrightAssertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.microsoft.playwright.Browser;
import com.microsoft.playwright.BrowserContext;
import com.microsoft.playwright.Locator;
import com.microsoft.playwright.Page;
import com.microsoft.playwright.Playwright;
import com.microsoft.playwright.options.ColorScheme;
import com.microsoft.playwright.options.ScreenshotAnimations;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The dashboard in the system's Chromium, beside a node with traffic. */
@Timeout(240)
class DashboardTest {
  private static final String TOKEN = "correct-horse-battery-staple";
  private static final Path SHOTS = Path.of("target", "screenshots");

  private static Playwright playwright;
  private static Browser browser;
  private static ShownNode node;

  private final List<String> complaints = new ArrayList<>();
  private @Nullable BrowserContext context;

  @BeforeAll
  static void start() throws Exception {
    Chromium.require();
    playwright = Playwright.create();
    browser = Chromium.launch(playwright);
    node = new ShownNode(ShownNode.anyPort(), 4);
  }

  @AfterAll
  static void stop() throws Exception {
    if (node != null) {
      node.close();
    }
    if (playwright != null) {
      playwright.close();
    }
  }

  @AfterEach
  void closePage() {
    if (context != null) {
      context.close();
    }
    assertEquals(List.of(), complaints, "errors of the page, or requests to elsewhere");
  }

  private Page open(ShownNode shown, int width, int height, ColorScheme scheme) {
    BrowserContext opened =
        browser.newContext(
            new Browser.NewContextOptions()
                .setViewportSize(width, height)
                .setColorScheme(scheme)
                .setHasTouch(width < 500));
    context = opened;
    opened.setDefaultTimeout(Chromium.LIMIT_MS);
    Page page = opened.newPage();
    String home = "http://127.0.0.1:" + shown.port() + "/";
    page.onPageError(complaints::add);
    page.onConsoleMessage(
        message -> {
          // A browser notes each answer of 401 there.
          if (message.type().equals("error") && !message.text().contains("401")) {
            complaints.add(message.text());
          }
        });
    page.onRequest(
        request -> {
          if (!request.url().startsWith(home) && !request.url().startsWith("data:")) {
            complaints.add(request.url());
          }
        });
    page.navigate(home);
    return page;
  }

  private static void shoot(Page page, String name) {
    page.screenshot(
        new Page.ScreenshotOptions()
            .setPath(SHOTS.resolve(name + ".png"))
            .setFullPage(true)
            .setAnimations(ScreenshotAnimations.DISABLED));
  }

  @Test
  void showsANodeLive() {
    Page page = open(node, 1280, 900, ColorScheme.LIGHT);
    assertThat(page.locator("#status")).hasText(Pattern.compile("OK|DEGRADED"));
    assertThat(page.locator("#connection-table tbody tr")).hasCount(4);
    assertThat(page.locator("#connection-table")).containsText("shm");
    assertThat(page.locator("#path-table")).containsText("tcp");
    assertTrue(page.locator("#heat button").count() > 0, "slabs");
    assertTrue(page.locator("#class-table tbody tr").count() >= 4, "classes");
    Locator chart = page.locator("canvas").first();
    assertThat(chart)
        .hasAttribute("aria-label", Pattern.compile("Messages, now: sent [0-9.]+ ?k?/s.*"));
    assertThat(chart).not().hasAttribute("aria-label", Pattern.compile(".*sent 0 ?/s.*"));
    page.waitForTimeout(3000);
    shoot(page, "desktop-light");
  }

  @Test
  void saysWhatChangesWhileOneLooks() {
    Page page = open(node, 1280, 900, ColorScheme.DARK);
    assertThat(page.locator("#connection-table tbody tr")).hasCount(4);
    var extra = node.connect();
    assertThat(page.locator("#changes")).containsText("new, OPEN over shm");
    assertThat(page.locator("#connection-table tbody tr")).hasCount(5);
    extra.close();
    assertThat(page.locator("#changes")).containsText("→ gone");
    node.failRequest();
    assertThat(page.locator("#status")).containsText("DEGRADED");
    assertThat(page.locator("#findings [data-id=requests_deadline]"))
        .containsText("without a reply: deadline: 1 in");
    node.publishIncident();
    Locator incident = page.locator("#incident-list summary").first();
    assertThat(incident).containsText("the link of mlx5_0 port 1 went down");
    incident.click();
    assertThat(page.locator("#incident-list")).containsText("look at the cable");
    // Text from outside stays text.
    assertThat(page.locator("#incident-list")).containsText("<b>ethtool</b>");
    assertThat(page.locator("#incident-list b")).hasCount(0);
    assertThat(page.locator("#timeline circle")).hasCount(1);
    shoot(page, "desktop-dark");
  }

  @Test
  void isUsedByKeyboardAlone() {
    Page page = open(node, 1280, 900, ColorScheme.LIGHT);
    assertThat(page.locator("#connection-table tbody tr")).hasCount(4);
    page.keyboard().press("/");
    page.keyboard().type("no such peer");
    assertThat(page.locator("#connection-table tbody tr")).hasCount(0);
    page.locator("#filter").fill("");
    page.locator("#filter").blur();
    assertThat(page.locator("#connection-table tbody tr")).hasCount(4);
    page.keyboard().press("t");
    page.keyboard().press("t");
    assertEquals("dark", page.evaluate("document.documentElement.dataset.theme"));
    page.keyboard().press("p");
    assertThat(page.locator("#pause")).hasAttribute("aria-pressed", "true");
    page.keyboard().press("p");
    page.keyboard().press("?");
    assertThat(page.locator("#keys")).isVisible();
    page.keyboard().press("Escape");
    assertThat(page.locator("#keys")).isHidden();
    page.keyboard().press("3");
    assertEquals("pool-h", page.evaluate("document.activeElement.id"));
    // A focused control stays focused while the page is drawn anew each second.
    page.locator("#connection-table th button").first().focus();
    page.waitForTimeout(2500);
    assertEquals("id", page.evaluate("document.activeElement.dataset.field"));
    page.keyboard().press("Enter");
    assertThat(page.locator("#connection-table th").first())
        .hasAttribute("aria-sort", Pattern.compile("ascending|descending"));
    page.locator("canvas").first().focus();
    page.keyboard().press("ArrowLeft");
    assertThat(page.locator("#reading")).containsText("messages sent");
  }

  @Test
  void fitsAPhoneInBothColours() {
    for (ColorScheme scheme : List.of(ColorScheme.LIGHT, ColorScheme.DARK)) {
      Page page = open(node, 390, 844, scheme);
      assertThat(page.locator("#connection-table tbody tr")).hasCount(4);
      Object overflow =
          page.evaluate(
              "document.documentElement.scrollWidth - document.documentElement.clientWidth");
      assertEquals(0, overflow, "the page scrolls sideways");
      page.waitForTimeout(1500);
      shoot(page, "phone-" + scheme.name().toLowerCase(java.util.Locale.ROOT));
      String back = (String) page.evaluate("getComputedStyle(document.body).backgroundColor");
      assertEquals(scheme == ColorScheme.LIGHT ? "rgb(246, 247, 249)" : "rgb(20, 23, 28)", back);
      page.context().close();
    }
    context = null;
  }

  @Test
  void asksForTheTokenAndForgetsNothing() throws Exception {
    try (ShownNode guarded = new ShownNode(ShownNode.anyPort().withToken(TOKEN), 2)) {
      Page page = open(guarded, 1280, 900, ColorScheme.LIGHT);
      assertThat(page.locator("#login")).isVisible();
      page.locator("#token").fill("wrong");
      page.keyboard().press("Enter");
      assertThat(page.locator("#login")).isVisible();
      page.locator("#token").fill(TOKEN);
      page.keyboard().press("Enter");
      assertThat(page.locator("#connection-table tbody tr")).hasCount(2);
      assertThat(page.locator("#login")).isHidden();
      page.reload();
      assertThat(page.locator("#connection-table tbody tr")).hasCount(2);
      assertFalse(page.url().contains(TOKEN));
      // Before the node goes, which the browser would note as an error.
      page.context().close();
      context = null;
    }
  }

  @Test
  void saysThatTheNodeIsGoneAndComesBackWithIt() throws Exception {
    ShownNode first = new ShownNode(ShownNode.anyPort(), 2);
    int port = first.port();
    Page page = open(first, 1280, 900, ColorScheme.LIGHT);
    assertThat(page.locator("#connection-table tbody tr")).hasCount(2);
    first.close();
    assertThat(page.locator("#status")).hasText("no connection");
    complaints.clear(); // each attempt is noted as an error by the browser
    MonitorConfig samePort = MonitorConfig.defaults().withAddress(ShownNode.loopback(port));
    try (ShownNode second = new ShownNode(samePort, 3)) {
      assertThat(page.locator("#connection-table tbody tr")).hasCount(3);
      assertThat(page.locator("#status")).hasText(Pattern.compile("OK|DEGRADED"));
      assertEquals(port, second.port());
    }
    page.context().close();
    context = null;
    complaints.clear();
  }
}
