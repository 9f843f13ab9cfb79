package io.rdma4j.verbs.ffi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.VerbsException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The rules of the tree of native objects, on objects that only log. */
final class NativeObjectTest {
  private final List<String> destroyed = new ArrayList<>();
  private final Map<String, Integer> refusals = new HashMap<>();

  private final class Node extends NativeObject {
    private final String name;
    private final int rank;

    Node(@Nullable NativeObject parent, String name, int rank) {
      super(parent, MemorySegment.ofAddress(0x1000));
      this.name = name;
      this.rank = rank;
    }

    Node child(String childName, int childRank) {
      return adopt(() -> new Node(this, childName, childRank));
    }

    @Override
    public int closeRank() {
      return rank;
    }

    @Override
    int destroy() {
      int errno = refusals.getOrDefault(name, 0);
      if (errno == 0) {
        destroyed.add(name);
      }
      return errno;
    }

    @Override
    String destroyCall() {
      return "destroy";
    }

    @Override
    public String toString() {
      return name;
    }
  }

  @Test
  void closesChildrenFirstByRankAndOnce() {
    Node root = new Node(null, "root", 0);
    root.child("channel", 2);
    Node domain = root.child("domain", 0);
    domain.child("region", 2);
    domain.child("queue pair", 0);
    root.child("queue", 1);
    root.close();
    root.close();
    domain.close();
    assertEquals(List.of("queue pair", "region", "domain", "queue", "channel", "root"), destroyed);
  }

  @Test
  void namesTheClosedObject() {
    Node root = new Node(null, "root", 0);
    root.close();
    assertEquals(
        "root is closed", assertThrows(IllegalStateException.class, root::address).getMessage());
    assertEquals(
        "root is closed",
        assertThrows(IllegalStateException.class, () -> root.child("late", 0)).getMessage());
  }

  @Test
  void destroysAChildThatArrivesWhileClosing() {
    Node root = new Node(null, "root", 0);
    assertThrows(
        IllegalStateException.class,
        () ->
            root.adopt(
                () -> {
                  Node late = new Node(root, "late", 0);
                  root.close();
                  assertEquals(List.of(), destroyed);
                  return late;
                }));
    assertEquals(List.of("late", "root"), destroyed);
  }

  @Test
  void givesTheReferenceBackWhenCreationFails() {
    Node root = new Node(null, "root", 0);
    assertThrows(
        ArithmeticException.class,
        () ->
            root.adopt(
                () -> {
                  throw new ArithmeticException();
                }));
    root.close();
    assertEquals(List.of("root"), destroyed);
  }

  @Test
  void closesTheRestWhenOneIsRefusedAndTriesAgain() {
    Node root = new Node(null, "root", 0);
    root.child("a", 0);
    root.child("b", 0);
    root.child("c", 0);
    refusals.put("a", Errno.EBUSY);
    refusals.put("c", Errno.EINVAL);
    VerbsException e = assertThrows(VerbsException.class, root::close);
    assertTrue(String.valueOf(e.getMessage()).contains("a could not be destroyed"), e::toString);
    assertEquals(Errno.EBUSY, e.errno());
    assertEquals(1, e.getSuppressed().length);
    assertEquals(List.of("b"), destroyed);
    refusals.clear();
    root.close();
    assertEquals(List.of("b", "a", "c", "root"), destroyed);
  }
}
