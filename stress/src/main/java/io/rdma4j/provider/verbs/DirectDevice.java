package io.rdma4j.provider.verbs;

import static java.lang.foreign.ValueLayout.JAVA_INT_UNALIGNED;
import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import io.rdma4j.verbs.CmId;
import io.rdma4j.verbs.CompletionChannel;
import io.rdma4j.verbs.CompletionQueue;
import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.ConnectedPath;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.DeviceAttributes;
import io.rdma4j.verbs.MemoryRegion;
import io.rdma4j.verbs.ProtectionDomain;
import io.rdma4j.verbs.QueuePair;
import io.rdma4j.verbs.QueuePairConfig;
import io.rdma4j.verbs.QueuePairState;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.RemotePath;
import io.rdma4j.verbs.SendList;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A device that does next to nothing: a posted send is copied into the peer's oldest receive there
 * and then. What a message executes beside that is the library's.
 *
 * <p>Two queue pairs on one thread. It checks nothing of what it is given.
 */
final class DirectDevice {
  private static final int DEPTH = 1024;
  private static final int INLINE_BYTES = 236;
  private static final int LKEY = 7;

  @SuppressWarnings("restricted")
  private static final MemorySegment ALL = MemorySegment.NULL.reinterpret(Long.MAX_VALUE);

  private static final DeviceAttributes ATTRIBUTES =
      new DeviceAttributes(
          "",
          1L << 40,
          16,
          DEPTH,
          2,
          16,
          2 * DEPTH,
          16,
          0,
          0,
          0,
          1,
          1,
          DeviceAttributes.Atomics.NONE);

  private DirectDevice() {}

  /** Returns a device with a protection domain whose regions are not registered anywhere. */
  static Device open() {
    ProtectionDomain domain =
        proxy(
            ProtectionDomain.class,
            Map.of("registerMemory", args -> new Region((long) args[0], (long) args[1])));
    CompletionChannel channel = proxy(CompletionChannel.class, Map.of());
    return proxy(
        Device.class,
        Map.of(
            "name", args -> "direct0",
            "attributes", args -> ATTRIBUTES,
            "allocateProtectionDomain", args -> domain,
            "createCompletionChannel", args -> channel,
            "createCompletionQueue", args -> new Queue()));
  }

  /** Returns a connection whose queue pair is the given one, once it is asked for. */
  static CmId connection(End end) {
    return proxy(
        CmId.class,
        Map.of(
            "devicePort", args -> 1,
            "createQueuePair", args -> end.with((Queue) ((QueuePairConfig) args[1]).sendQueue())));
  }

  private interface Answer {
    @Nullable Object to(Object[] arguments);
  }

  /** Answers these calls, and others with 0 or null. */
  private static <T> T proxy(Class<T> type, Map<String, Answer> answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) -> {
              Answer answer = answers.get(method.getName());
              if (answer != null) {
                return answer.to(arguments);
              }
              if (method.getReturnType() == boolean.class) {
                return false;
              }
              return method.getReturnType() == int.class ? (Object) 0 : null;
            }));
  }

  private static final class Region extends MemoryRegion {
    Region(long address, long lengthBytes) {
      super(address, lengthBytes, LKEY, LKEY);
    }

    @Override
    protected void deregister() {}
  }

  /** Completions in the order they came. */
  private static final class Queue implements CompletionQueue {
    private final long[] wrId = new long[2 * DEPTH];
    private final int[] lengthBytes = new int[2 * DEPTH];
    private int head;
    private int tail;

    void add(long id, int bytes) {
      int at = tail++ & 2 * DEPTH - 1;
      wrId[at] = id;
      lengthBytes[at] = bytes;
    }

    @Override
    public int capacity() {
      return 2 * DEPTH;
    }

    @Override
    public int poll(Completions batch) {
      int count = 0;
      while (head != tail && count < batch.capacity()) {
        int at = head++ & 2 * DEPTH - 1;
        batch.set(
            count++,
            wrId[at],
            Completions.SUCCESS,
            WorkRequestId.isReceive(wrId[at]) ? Completions.OPCODE_RECEIVE : 0,
            0,
            lengthBytes[at],
            0,
            0,
            0);
      }
      return count;
    }

    @Override
    public void requestNotification(boolean solicitedOnly) {}

    @Override
    public boolean moderate(int completions, int periodUs) {
      return false;
    }

    @Override
    public void close() {}
  }

  /**
   * One end of a connection. Receives lie in a ring; a send reads the lists as a device would, word
   * by word, so lengths are multiples of 8.
   */
  static final class End implements QueuePair {
    private final long[] receiveId = new long[DEPTH];
    private final long[] headerAddress = new long[DEPTH];
    private final long[] payloadAddress = new long[DEPTH];
    private int receiveHead;
    private int receiveTail;
    private @Nullable Queue completions;
    private @Nullable End peer;

    private End with(Queue queue) {
      completions = queue;
      return this;
    }

    void connect(End to) {
      peer = to;
      to.peer = this;
    }

    @Override
    public int postSend(SendList list) {
      End to = Objects.requireNonNull(peer);
      for (long wr = list.address(); wr != 0; wr = ALL.get(JAVA_LONG_UNALIGNED, wr + 8)) {
        long entry = ALL.get(JAVA_LONG_UNALIGNED, wr + 16);
        to.arrived(ALL.get(JAVA_LONG_UNALIGNED, entry), ALL.get(JAVA_INT_UNALIGNED, entry + 8));
        if ((ALL.get(JAVA_INT_UNALIGNED, wr + 32) & SendList.SIGNALED) != 0) {
          Objects.requireNonNull(completions).add(ALL.get(JAVA_LONG_UNALIGNED, wr), 0);
        }
      }
      return list.posted(0, 0);
    }

    private void arrived(long from, int lengthBytes) {
      int at = receiveHead++ & DEPTH - 1;
      copy(from, headerAddress[at], MessageHeader.BYTES);
      copy(from + MessageHeader.BYTES, payloadAddress[at], lengthBytes - MessageHeader.BYTES);
      Objects.requireNonNull(completions).add(receiveId[at], lengthBytes);
    }

    private static void copy(long from, long to, int lengthBytes) {
      for (int i = 0; i < lengthBytes; i += Long.BYTES) {
        ALL.set(JAVA_LONG_UNALIGNED, to + i, ALL.get(JAVA_LONG_UNALIGNED, from + i));
      }
    }

    @Override
    public int postReceive(ReceiveList list) {
      for (long wr = list.address(); wr != 0; wr = ALL.get(JAVA_LONG_UNALIGNED, wr + 8)) {
        int at = receiveTail++ & DEPTH - 1;
        long entries = ALL.get(JAVA_LONG_UNALIGNED, wr + 16);
        receiveId[at] = ALL.get(JAVA_LONG_UNALIGNED, wr);
        headerAddress[at] = ALL.get(JAVA_LONG_UNALIGNED, entries);
        payloadAddress[at] = ALL.get(JAVA_LONG_UNALIGNED, entries + 16);
      }
      return list.posted(0, 0);
    }

    @Override
    public int number() {
      return 1;
    }

    @Override
    public int maxInlineBytes() {
      return INLINE_BYTES;
    }

    @Override
    public QueuePairState state() {
      return QueuePairState.RTS;
    }

    @Override
    public ConnectedPath path() {
      return new ConnectedPath(0, -1, 0, 0);
    }

    @Override
    public void toInit(int port, int access) {}

    @Override
    public void toReadyToReceive(RemotePath path) {}

    @Override
    public void toReadyToSend(RemotePath path) {}

    @Override
    public void toError() {}

    @Override
    public void close() {}
  }
}
