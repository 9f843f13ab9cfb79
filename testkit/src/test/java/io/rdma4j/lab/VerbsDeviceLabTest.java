package io.rdma4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.verbs.Completions;
import io.rdma4j.verbs.Device;
import io.rdma4j.verbs.DeviceInfo;
import io.rdma4j.verbs.PortAttributes;
import io.rdma4j.verbs.ReceiveList;
import io.rdma4j.verbs.SendList;
import io.rdma4j.verbs.Verbs;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The verbs binding on the kernel's own software devices. */
@Tag("lab")
@Timeout(value = 60, unit = TimeUnit.SECONDS)
final class VerbsDeviceLabTest {
  private static final Verbs VERBS = Verbs.system();

  @Test
  void listsBothDevices() {
    List<DeviceInfo> devices = VERBS.devices();
    assertEquals(
        List.of("rxe0 INFINIBAND true", "siw0 IWARP true"),
        devices.stream()
            .map(d -> d.name() + " " + d.transport() + " " + d.availability().usable())
            .toList());
    assertTrue(VERBS.availability().usable(), VERBS.availability().reason());
  }

  @Test
  void readsAttributesPortAndGids() {
    for (String name : List.of("rxe0", "siw0")) {
      try (Device device = VERBS.open(name)) {
        assertEquals(1, device.attributes().physicalPorts(), name);
        assertTrue(device.attributes().maxMemoryRegionBytes() > 0, name);
        assertTrue(device.attributes().completionVectors() > 0, name);
        PortAttributes port = device.port(1);
        assertEquals(PortAttributes.State.ACTIVE, port.state(), name);
        assertEquals(PortAttributes.LinkLayer.ETHERNET, port.linkLayer(), name);
        assertEquals(16, device.gid(1, 0).length, name);
      }
    }
  }

  @Test
  void playsPingPong() {
    try (Device device = VERBS.open("rxe0");
        Loopback loopback = new Loopback(device);
        SendList send = new SendList(1, 1);
        ReceiveList receive = new ReceiveList(1, 1)) {
      Loopback.Side a = loopback.a;
      Loopback.Side b = loopback.b;
      for (int i = 0; i < 100; i++) {
        Loopback.Side from = i % 2 == 0 ? a : b;
        Loopback.Side to = i % 2 == 0 ? b : a;
        receive.clear();
        receive.add(i).scatter(to.memory.address() + 4096, 64, to.region.lkey());
        assertEquals(1, to.queuePair.postReceive(receive));
        from.memory.set(ValueLayout.JAVA_INT, 0, 1000 + i);
        send.clear();
        send.add(i, SendList.OP_SEND, SendList.SIGNALED)
            .gather(from.memory.address(), 64, from.region.lkey());
        assertEquals(1, from.queuePair.postSend(send));
        assertEquals(1, to.await());
        assertEquals(Completions.SUCCESS, to.batch.status(0));
        assertEquals(i, to.batch.wrId(0));
        assertEquals(64, to.batch.lengthBytes(0));
        assertEquals(1000 + i, to.memory.get(ValueLayout.JAVA_INT, 4096));
        assertEquals(1, from.await());
        assertEquals(Completions.SUCCESS, from.batch.status(0));
      }
    }
  }
}
