package io.rdma4j.tools.top;

import io.rdma4j.pool.HeatTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What happened to a pool's slabs between two snapshots, in words. */
final class PoolEvents {
  private PoolEvents() {}

  /** Returns a line for each kind of event and class, with the time of the later snapshot. */
  static List<String> between(PoolSnapshot before, PoolSnapshot now) {
    List<String> events = new ArrayList<>();
    for (int i = 0; i < Math.min(before.classes().size(), now.classes().size()); i++) {
      PoolSnapshot.SizeClass was = before.classes().get(i);
      PoolSnapshot.SizeClass is = now.classes().get(i);
      long revived = is.revivals() - was.revivals();
      long trimmed = is.trims() - was.trims();
      // Those that were pending and are neither back nor gone are so still.
      long suspended = pending(now, is) - pending(before, was) + revived + trimmed;
      add(
          events,
          now,
          is,
          is.growths() - was.growths(),
          "grew by %d",
          "registered ahead or on demand");
      add(
          events,
          now,
          is,
          is.fallbacks() - was.fallbacks(),
          "fell back for %d",
          "a block registered for one request");
      add(events, now, is, suspended, "suspended %d", "idle, registered still");
      add(events, now, is, revived, "revived %d", "wanted again");
      add(events, now, is, trimmed, "trimmed %d", "deregistered and unmapped");
    }
    if (now.exhausted() > before.exhausted()) {
      events.add(
          at(
              now,
              "%d allocations refused: the budget is spent"
                  .formatted(now.exhausted() - before.exhausted())));
    }
    return events;
  }

  private static long pending(PoolSnapshot snapshot, PoolSnapshot.SizeClass sizeClass) {
    return snapshot.heat().stream()
        .filter(row -> row.blockBytes() == sizeClass.blockBytes() && !sizeClass.reserve())
        .filter(row -> row.state() == HeatTable.State.PENDING)
        .count();
  }

  private static void add(
      List<String> events,
      PoolSnapshot now,
      PoolSnapshot.SizeClass sizeClass,
      long count,
      String what,
      String meaning) {
    if (count > 0) {
      String name = Units.bytes(sizeClass.blockBytes());
      events.add(
          at(
              now,
              name
                  + " class "
                  + what.formatted(count)
                  + (count == 1 ? " slab" : " slabs")
                  + ": "
                  + meaning));
    }
  }

  private static String at(PoolSnapshot now, String event) {
    return String.format(Locale.ROOT, "%7.1f s  %s", now.seconds(), event);
  }
}
