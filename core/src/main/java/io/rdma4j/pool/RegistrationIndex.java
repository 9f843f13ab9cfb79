package io.rdma4j.pool;

import io.rdma4j.os.ArenaHook;
import io.rdma4j.provider.MemoryAccess;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The registrations of one scope, found by any address inside them.
 *
 * <p>Registrations with the same rights form a lane, sorted by start. No registration of a lane
 * contains another one, so their ends ascend as well, and of all that start at or before an address
 * the last one reaches furthest: one binary search tells whether any contains a range, even where
 * registrations overlap.
 *
 * <p>Lanes are immutable. {@link #find} is for any thread and takes no lock; everything else is
 * guarded by the table's lock.
 */
final class RegistrationIndex {
  private static final Lane[] NO_LANES = {};

  /**
   * Registrations with the same rights; {@code starts} and {@code ends} repeat their ranges, so
   * that a search reads nothing else.
   */
  private record Lane(int access, long[] starts, long[] ends, CachedRegistration[] registrations) {
    static Lane of(int access, List<CachedRegistration> sorted) {
      long[] starts = sorted.stream().mapToLong(r -> r.range().start()).toArray();
      long[] ends = sorted.stream().mapToLong(r -> r.range().end()).toArray();
      return new Lane(access, starts, ends, sorted.toArray(CachedRegistration[]::new));
    }

    /** Returns the place of the last registration that starts at or before an address, or -1. */
    int floor(long address) {
      int low = 0;
      // Halving by a conditional move: which way it goes can not be predicted.
      for (int rest = starts.length; rest > 1; ) {
        int half = rest >>> 1;
        low = starts[low + half] <= address ? low + half : low;
        rest -= half;
      }
      return starts[low] <= address ? low : -1;
    }
  }

  private final MemorySegment.Scope scope;
  private final boolean closable;
  private volatile Lane[] lanes = NO_LANES;

  /** Memory that is older than an action at the arena's close, by start, without touching. */
  private final TreeMap<Long, MemoryRange> guarded = new TreeMap<>();

  RegistrationIndex(MemorySegment.Scope scope) {
    this.scope = scope;
    this.closable = ArenaHook.isClosable(scope);
  }

  MemorySegment.Scope scope() {
    return scope;
  }

  /** Returns true when someone can close the scope. */
  boolean isClosable() {
    return closable;
  }

  /** Returns a registration that contains the range and has the rights, or null. */
  @Nullable CachedRegistration find(long address, long lengthBytes, int access) {
    for (Lane lane : lanes) {
      if (MemoryAccess.includes(lane.access, access)) {
        int place = lane.floor(address);
        if (place >= 0 && lengthBytes <= lane.ends[place] - address) {
          return lane.registrations[place];
        }
      }
    }
    return null;
  }

  /** Returns true when nothing is left that a later look-up could use. */
  boolean isEmpty() {
    return lanes.length == 0 && guarded.isEmpty();
  }

  void forEach(Consumer<CachedRegistration> action) {
    for (Lane lane : lanes) {
      for (CachedRegistration registration : lane.registrations) {
        action.accept(registration);
      }
    }
  }

  /**
   * Adds a registration that none of its lane contains, and takes out those it makes superfluous:
   * inside its range, with no right that it has not.
   *
   * @return those taken out
   */
  List<CachedRegistration> add(CachedRegistration added) {
    List<CachedRegistration> superfluous =
        removeIf(
            old ->
                added.range().contains(old.range())
                    && MemoryAccess.includes(added.access(), old.access()));
    List<CachedRegistration> lane = new ArrayList<>();
    forEach(
        registration -> {
          if (registration.access() == added.access()) {
            lane.add(registration);
          }
        });
    int place = 0;
    while (place < lane.size() && lane.get(place).range().start() < added.range().start()) {
      place++;
    }
    lane.add(place, added);
    Lane[] rest = Arrays.stream(lanes).filter(l -> l.access != added.access()).toArray(Lane[]::new);
    Lane[] changed = Arrays.copyOf(rest, rest.length + 1);
    changed[rest.length] = Lane.of(added.access(), lane);
    lanes = changed;
    return superfluous;
  }

  /** Takes out what matches; returns it. */
  List<CachedRegistration> removeIf(Predicate<CachedRegistration> matching) {
    List<CachedRegistration> removed = new ArrayList<>();
    forEach(
        registration -> {
          if (matching.test(registration)) {
            removed.add(registration);
          }
        });
    if (!removed.isEmpty()) {
      lanes =
          Arrays.stream(lanes)
              .map(lane -> without(lane, removed))
              .filter(lane -> lane.starts.length > 0)
              .toArray(Lane[]::new);
    }
    return removed;
  }

  private static Lane without(Lane lane, List<CachedRegistration> removed) {
    List<CachedRegistration> kept = new ArrayList<>(List.of(lane.registrations));
    return kept.removeAll(removed) ? Lane.of(lane.access, kept) : lane;
  }

  /** Returns the rights that registrations of exactly this range have, all together. */
  int accessOf(MemoryRange range) {
    int[] access = new int[1];
    forEach(
        registration -> {
          if (registration.range().equals(range)) {
            access[0] |= registration.access();
          }
        });
    return access[0];
  }

  /**
   * Returns the range joined with those of its lane that touch it, and that are at most half of the
   * union. So a byte is registered again only when its registration at least doubles.
   */
  MemoryRange merged(MemoryRange range, int access) {
    MemoryRange merged = range;
    for (MemoryRange before = null; !merged.equals(before); ) {
      before = merged;
      for (Lane lane : lanes) {
        if (lane.access == access) {
          for (CachedRegistration neighbour : lane.registrations) {
            MemoryRange union = merged.union(neighbour.range());
            if (neighbour.range().touches(merged)
                && neighbour.range().lengthBytes() <= union.lengthBytes() / 2) {
              merged = union;
            }
          }
        }
      }
    }
    return merged;
  }

  /** Returns true when an action at the arena's close is younger than all memory of the range. */
  boolean isGuarded(MemoryRange range) {
    Map.Entry<Long, MemoryRange> floor = guarded.floorEntry(range.start());
    return floor != null && floor.getValue().contains(range);
  }

  /** Notes that an action at the arena's close was added when this memory was there already. */
  void guard(MemoryRange range) {
    MemoryRange joined = range;
    for (Map.Entry<Long, MemoryRange> before;
        (before = guarded.floorEntry(joined.end())) != null
            && before.getValue().touches(joined); ) {
      joined = joined.union(before.getValue());
      guarded.remove(before.getKey());
    }
    guarded.put(joined.start(), joined);
    MemoryRange now = joined;
    forEach(
        registration -> {
          if (now.contains(registration.range())) {
            registration.markGuarded();
          }
        });
  }

  @Override
  public String toString() {
    return "registrations of " + scope;
  }
}
