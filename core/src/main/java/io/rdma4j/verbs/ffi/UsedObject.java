package io.rdma4j.verbs.ffi;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** A verbs object that siblings use without owning it, so that it refuses to close before them. */
abstract class UsedObject extends NativeObject {
  private final Set<Object> users = new LinkedHashSet<>();

  UsedObject(NativeObject parent, MemorySegment pointer) {
    super(parent, pointer);
  }

  /** Notes a user. */
  final synchronized void addUser(Object user) {
    address();
    users.add(user);
  }

  /** Forgets a user. */
  final synchronized void removeUser(Object user) {
    users.remove(user);
  }

  @Override
  final synchronized void checkUnused() {
    if (!users.isEmpty()) {
      List<Object> named = new ArrayList<>(users);
      throw new IllegalStateException(
          this
              + " is still used by "
              + named.subList(0, Math.min(8, named.size()))
              + (named.size() > 8 ? " and " + (named.size() - 8) + " more" : "")
              + ": close these first");
    }
  }
}
