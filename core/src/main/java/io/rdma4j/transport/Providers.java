package io.rdma4j.transport;

import io.rdma4j.Rdma4jException;
import io.rdma4j.concurrent.NanoClock;
import io.rdma4j.provider.MemoryRegistrar;
import io.rdma4j.provider.Provider;
import io.rdma4j.provider.shm.ShmProvider;
import io.rdma4j.provider.tcp.TcpProvider;
import io.rdma4j.provider.verbs.VerbsProvider;
import io.rdma4j.provider.verbs.VerbsSettings;
import io.rdma4j.status.EventSink;
import io.rdma4j.verbs.Verbs;
import java.util.ArrayList;
import java.util.List;

/** Makes the providers a configuration asks for. */
final class Providers {
  private Providers() {}

  /** Returns them in the configured order; the caller closes them. */
  static List<Provider> create(NodeConfig config, EventSink events) {
    List<Provider> providers = new ArrayList<>();
    try {
      for (String name : config.paths()) {
        providers.add(create(name, config, events));
      }
      return List.copyOf(providers);
    } catch (RuntimeException e) {
      close(providers, e);
      throw e;
    }
  }

  private static Provider create(String name, NodeConfig config, EventSink events) {
    return switch (name) {
      case "shm" ->
          config.shmDirectory() == null
              ? new ShmProvider()
              : new ShmProvider(config.shmDirectory());
      case "verbs" ->
          new VerbsProvider(
              config.verbs() == null ? Verbs.system() : config.verbs(),
              VerbsSettings.fromProperties().withSharedReceives(config.sharedReceives()),
              NanoClock.SYSTEM,
              events);
      case "tcp" -> new TcpProvider();
      default -> throw new IllegalArgumentException("unknown path " + name);
    };
  }

  static List<MemoryRegistrar> registrars(List<Provider> providers) {
    List<MemoryRegistrar> registrars = new ArrayList<>();
    for (Provider provider : providers) {
      registrars.addAll(provider.registrars());
    }
    return List.copyOf(registrars);
  }

  /**
   * Replaces the providers that registered memory for their devices by their refusal.
   *
   * @throws Rdma4jException the refusal itself, when no provider has registrars
   */
  static List<Provider> withoutRegistrars(List<Provider> providers, Rdma4jException refusal) {
    List<Provider> rest = new ArrayList<>();
    boolean replaced = false;
    for (Provider provider : providers) {
      boolean registers = !provider.registrars().isEmpty();
      replaced |= registers;
      rest.add(registers ? new RefusedProvider(provider, refusal) : provider);
    }
    if (!replaced) {
      throw refusal;
    }
    return List.copyOf(rest);
  }

  /** Closes all; a failure does not stop the rest and is added to {@code main}. */
  static void close(List<Provider> providers, RuntimeException main) {
    for (Provider provider : providers) {
      try {
        provider.close();
      } catch (RuntimeException e) {
        main.addSuppressed(e);
      }
    }
  }
}
