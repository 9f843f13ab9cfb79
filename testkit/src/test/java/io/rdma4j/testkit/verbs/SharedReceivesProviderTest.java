package io.rdma4j.testkit.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.pool.HugePages;
import io.rdma4j.pool.PoolConfig;
import io.rdma4j.pool.RegisteredBufferPool;
import io.rdma4j.provider.Provider;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.provider.verbs.VerbsSettings;
import io.rdma4j.testkit.provider.ProviderContract;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;

/** The verbs provider under the contract suite, with shared receives of a pool's reserve. */
final class SharedReceivesProviderTest extends ProviderContract {
  private static final int RECEIVES = 96;

  private final ScriptedVerbs verbs = new ScriptedVerbs();
  private final List<RegisteredBufferPool> pools = new ArrayList<>();

  SharedReceivesProviderTest() {
    verbs.addDevice("scripted0").address(InetAddress.getLoopbackAddress());
  }

  /** The registrations of a pool end before its provider, so this one closes it first. */
  @Override
  protected Provider createProvider() {
    var settings = new VerbsSettings(16, 0, 0).withSharedReceives(RECEIVES);
    VerbsProvider provider = new VerbsProvider(verbs, settings, NanoClock.SYSTEM);
    int maxMessageBytes = config().maxMessageBytes();
    RegisteredBufferPool pool =
        RegisteredBufferPool.create(
            PoolConfig.builder()
                .blockSizes(maxMessageBytes)
                .slabBytes(16 * maxMessageBytes)
                .initialBytes(0)
                .maxBytes((long) RECEIVES * maxMessageBytes)
                .receiveReserveBlocks(RECEIVES)
                .hugePages(HugePages.NONE)
                .backgroundThread(false)
                .build(),
            provider.registrars());
    pools.add(pool);
    provider.receiveInto(pool.receiveMemory(maxMessageBytes));
    return provider;
  }

  @Override
  protected void assertNothingLeft() {
    for (RegisteredBufferPool pool : pools) {
      assertEquals(0, pool.statistics().usedBytes(), "blocks on lease");
      pool.close();
    }
    verbs.ledger().assertNothingLeft();
    assertEquals(0, verbs.ledger().receiverNotReady(), "messages that found no receive");
    assertEquals(0, verbs.ledger().stalePosts());
  }
}
