package io.rdma4j.provider.shm;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdma4j.Availability;
import io.rdma4j.SendResult;
import io.rdma4j.os.HostIdentity;
import io.rdma4j.os.ProcessIdentity;
import io.rdma4j.os.SharedFile;
import io.rdma4j.provider.Endpoint;
import io.rdma4j.provider.EndpointConfig;
import io.rdma4j.provider.EndpointFailure;
import io.rdma4j.provider.Recorder;
import io.rdma4j.provider.ScriptedHandshake;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Both roles against peers that say odd things, and what is left after each failure. */
@Timeout(60)
final class ShmHandshakeTest {
  private static final EndpointConfig CONFIG = new EndpointConfig(1024, 16, 8192);
  private static final byte[] TOKEN = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

  @TempDir private Path directory = Path.of("");
  private long filesBefore;

  @BeforeEach
  void countOpenFiles() throws IOException {
    new ShmProvider(null).close();
    filesBefore = ringFiles();
  }

  @AfterEach
  void nothingIsLeft() throws IOException {
    assertEquals(filesBefore, ringFiles(), "open descriptors of ring files");
    try (Stream<Path> left = Files.list(directory)) {
      assertEquals(List.of(), left.toList());
    }
  }

  /** Counts descriptors and mappings of ring files in this process. */
  private static long ringFiles() throws IOException {
    long count;
    try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
      count = maps.filter(line -> line.contains("rdma4j")).count();
    }
    try (Stream<Path> descriptors = Files.list(Path.of("/proc/self/fd"))) {
      for (Path descriptor : descriptors.toList()) {
        if (Files.isSymbolicLink(descriptor)
            && Files.readSymbolicLink(descriptor).toString().contains("rdma4j-ring")) {
          count++;
        }
      }
    }
    return count;
  }

  private static ShmWire.Invitation invitation(SharedFile file) throws IOException {
    return new ShmWire.Invitation(
        ProcessIdentity.current(),
        HostIdentity.current().pidNamespace(),
        ShmFile.ringBytes(CONFIG),
        CONFIG.maxMessageBytes(),
        file.fd(),
        "");
  }

  private static String refusal(ShmWire.Invitation invitation) {
    return refusal(invitation.encode());
  }

  private static String refusal(byte[] invitation) {
    var handshake = new ScriptedHandshake(TOKEN, invitation);
    var e = assertThrows(IOException.class, () -> new ShmProvider(null).accept(handshake, CONFIG));
    assertEquals(List.of(), handshake.sent, "no answer to a bad invitation");
    return e.toString();
  }

  @Test
  void acceptsAGoodInvitationAndTellsWhenThePeerCloses() throws IOException {
    try (SharedFile file = SharedFile.anonymous("rdma4j-ring", ShmFile.fileBytes(CONFIG))) {
      ShmFile peer = ShmFile.initiate(file, CONFIG, TOKEN);
      var handshake = new ScriptedHandshake(TOKEN, invitation(file).encode());
      Endpoint endpoint = new ShmProvider(null).accept(handshake, CONFIG);
      assertEquals(
          ProcessIdentity.current(), ShmWire.Answer.decode(handshake.sent.getFirst()).process());
      Recorder recorder = new Recorder();
      assertEquals(0, endpoint.poll(recorder, 16));
      RingWriter writer = peer.writer();
      assertEquals(
          RingWriter.WRITTEN, writer.write(7, 8, MemorySegment.ofArray(new byte[9]), 0, 9));
      writer.publish();
      peer.close();
      endpoint.housekeep(1);
      assertEquals(0, endpoint.poll(recorder, 0));
      assertEquals(List.of(), recorder.failures, "not while a record lies ahead");
      assertEquals(1, endpoint.poll(recorder, 16));
      assertEquals(List.of(), recorder.failures, "records go first");
      assertEquals(0, endpoint.poll(recorder, 16));
      assertEquals(0, endpoint.poll(recorder, 16));
      assertEquals(1, recorder.failures.size());
      assertEquals(EndpointFailure.Kind.PEER_CLOSED, recorder.failures.getFirst().kind());
      assertEquals(
          SendResult.NOT_CONNECTED, endpoint.send(0, 0, MemorySegment.ofArray(new byte[1]), 0, 1));
      endpoint.close(recorder);
      endpoint.close(recorder);
    }
  }

  @Test
  void reportsADamagedRingAsProtocolFailure() throws IOException {
    try (SharedFile file = SharedFile.anonymous("rdma4j-ring", ShmFile.fileBytes(CONFIG))) {
      ShmFile peer = ShmFile.initiate(file, CONFIG, TOKEN);
      var handshake = new ScriptedHandshake(TOKEN, invitation(file).encode());
      Endpoint endpoint = new ShmProvider(null).accept(handshake, CONFIG);
      peer.memory().asSlice(4096, 64).fill((byte) 0x47);
      Recorder recorder = new Recorder();
      assertEquals(0, endpoint.poll(recorder, 16));
      assertEquals(0, endpoint.poll(recorder, 16));
      assertEquals(1, recorder.failures.size());
      assertEquals(EndpointFailure.Kind.PROTOCOL, recorder.failures.getFirst().kind());
      assertEquals(
          SendResult.NOT_CONNECTED, endpoint.send(0, 0, MemorySegment.ofArray(new byte[1]), 0, 1));
      endpoint.close(recorder);
      peer.close();
    }
  }

  @Test
  void reportsAnImpossibleConsumerPositionAsProtocolFailure() throws IOException {
    try (SharedFile file = SharedFile.anonymous("rdma4j-ring", ShmFile.fileBytes(CONFIG))) {
      ShmFile peer = ShmFile.initiate(file, CONFIG, TOKEN);
      var handshake = new ScriptedHandshake(TOKEN, invitation(file).encode());
      Endpoint endpoint = new ShmProvider(null).accept(handshake, CONFIG);
      peer.memory().asSlice(384, 256).fill((byte) 0x01);
      MemorySegment source = MemorySegment.ofArray(new byte[1024]);
      long result;
      do {
        result = endpoint.send(0, 0, source, 0, 1024);
      } while (result == SendResult.OK);
      assertEquals(SendResult.NOT_CONNECTED, result);
      Recorder recorder = new Recorder();
      endpoint.poll(recorder, 16);
      assertEquals(EndpointFailure.Kind.PROTOCOL, recorder.failures.getFirst().kind());
      endpoint.close(recorder);
      peer.close();
    }
  }

  @Test
  void refusesInvitationsThatAreNotTrue() throws IOException {
    try (SharedFile file = SharedFile.anonymous("rdma4j-ring", ShmFile.fileBytes(CONFIG))) {
      ShmFile peer = ShmFile.initiate(file, CONFIG, TOKEN);
      ShmWire.Invitation good = invitation(file);
      ProcessIdentity self = good.process();
      var restarted = new ProcessIdentity(self.pid(), self.startTicks() + 1);
      assertTrue(
          refusal(with(good, restarted, good.pidNamespace(), good.fd(), ""))
              .contains("cannot be seen"));
      assertTrue(refusal(with(good, self, 1, good.fd(), "")).contains("cannot be seen"));
      assertTrue(refusal(with(good, self, good.pidNamespace(), 1 << 20, "")).contains("/proc/"));
      assertTrue(refusal(with(good, self, good.pidNamespace(), -1, "")).contains("/proc/"));
      assertTrue(refusal(with(good, self, good.pidNamespace(), 0, "")).contains("not a memfd"));
      for (String path :
          List.of("/etc/passwd", "rdma4j-1-2-3.ring", "/x/rdma4j-1-2-3.ring", "/a\0b")) {
        refusal(with(good, self, good.pidNamespace(), -1, path));
      }
      assertTrue(refusal(new byte[0]).contains("0 bytes"));
      byte[] bytes = good.encode();
      refusal(Arrays.copyOf(bytes, bytes.length - 1));
      refusal(Arrays.copyOf(bytes, bytes.length + 1));
      bytes[5]++;
      assertTrue(refusal(bytes).contains("version"));
      peer.close();
    }
  }

  private static ShmWire.Invitation with(
      ShmWire.Invitation good, ProcessIdentity process, long namespace, int fd, String path) {
    return new ShmWire.Invitation(
        process, namespace, good.ringBytes(), good.maxMessageBytes(), fd, path);
  }

  @Test
  void refusesFilesThatAreNotTheOneAgreedOn() throws IOException {
    byte[] otherToken = new byte[16];
    try (SharedFile file = SharedFile.anonymous("rdma4j-ring", ShmFile.fileBytes(CONFIG))) {
      assertTrue(refusal(invitation(file)).contains("not a ring file"), "no header yet");
      ShmFile peer = ShmFile.initiate(file, CONFIG, otherToken);
      assertTrue(refusal(invitation(file)).contains("token differs"));
      peer.close();
    }
    try (SharedFile file = SharedFile.anonymous("rdma4j-ring", 4096)) {
      assertTrue(refusal(invitation(file)).contains("4096 bytes"));
    }
    var other = new EndpointConfig(512, 16, 8192);
    try (SharedFile file = SharedFile.anonymous("rdma4j-ring", ShmFile.fileBytes(other))) {
      ShmFile peer = ShmFile.initiate(file, other, TOKEN);
      assertTrue(refusal(invitation(file)).contains("messages of 512"));
      peer.close();
    }
  }

  @Test
  void initiatorLeavesNothingWhenThePeerGivesUpOrAnswersNonsense() {
    for (ShmProvider provider : List.of(new ShmProvider(null), new ShmProvider(directory))) {
      for (byte[][] script : new byte[][][] {{}, {new byte[0]}, {new byte[32]}}) {
        var handshake = new ScriptedHandshake(TOKEN, script);
        assertThrows(IOException.class, () -> provider.initiate(handshake, CONFIG));
        assertEquals(1, handshake.sent.size());
      }
    }
  }

  @Test
  void unlinksItsFileOnceThePeerHasMappedIt() throws IOException {
    var answer =
        new ShmWire.Answer(ProcessIdentity.current(), HostIdentity.current().pidNamespace());
    var handshake = new ScriptedHandshake(TOKEN, answer.encode());
    Endpoint endpoint = new ShmProvider(directory).initiate(handshake, CONFIG);
    String path = ShmWire.Invitation.decode(handshake.sent.getFirst()).path();
    assertTrue(path.startsWith(directory + "/rdma4j-" + ProcessHandle.current().pid()), path);
    assertFalse(Files.exists(Path.of(path)));
    endpoint.close(new Recorder());
  }

  @Test
  void findsOutThatThePeerProcessIsGone() throws IOException {
    ProcessIdentity self = ProcessIdentity.current();
    var ended = new ProcessIdentity(self.pid(), self.startTicks() - 1);
    var answer = new ShmWire.Answer(ended, HostIdentity.current().pidNamespace());
    var handshake = new ScriptedHandshake(TOKEN, answer.encode());
    Endpoint endpoint = new ShmProvider(null).initiate(handshake, CONFIG);
    Recorder recorder = new Recorder();
    endpoint.poll(recorder, 16);
    assertEquals(List.of(), recorder.failures);
    endpoint.housekeep(Long.MIN_VALUE);
    endpoint.housekeep(Long.MIN_VALUE + 1);
    endpoint.poll(recorder, 16);
    assertEquals(1, recorder.failures.size());
    EndpointFailure failure = recorder.failures.getFirst();
    assertEquals(EndpointFailure.Kind.PEER_LOST, failure.kind());
    assertTrue(failure.message().contains("process " + self.pid()), failure::message);
    endpoint.close(recorder);
  }

  @Test
  void judgesOffersByHostAndNamespace() throws IOException {
    ShmProvider anonymous = new ShmProvider(null);
    ShmProvider named = new ShmProvider(directory);
    HostIdentity here = HostIdentity.current();
    var otherHost = new HostIdentity(new UUID(1, 2), here.pidNamespace());
    var otherNamespace = new HostIdentity(here.bootId(), here.pidNamespace() + 1);
    assertUsable(true, anonymous.judge(named.offer()));
    assertUsable(false, anonymous.judge(new ShmWire.Offer(false, otherHost).encode()));
    assertUsable(false, anonymous.judge(new ShmWire.Offer(true, otherNamespace).encode()));
    assertUsable(false, named.judge(new ShmWire.Offer(false, otherNamespace).encode()));
    assertUsable(true, named.judge(new ShmWire.Offer(true, otherNamespace).encode()));
    assertUsable(false, named.judge(new byte[0]));
    assertUsable(false, named.judge(new byte[32]));
    assertUsable(false, new ShmProvider(directory.resolve("missing")).availability());
  }

  private static void assertUsable(boolean usable, Availability availability) {
    assertEquals(usable, availability.usable(), availability::reason);
  }

  @Test
  void encodesTheOffer() throws IOException {
    ShmWire.Offer offer = new ShmWire.Offer(true, HostIdentity.current());
    assertEquals(32, offer.encode().length);
    assertEquals(offer, ShmWire.Offer.decode(offer.encode()));
    assertArrayEquals(offer.encode(), new ShmProvider(directory).offer());
  }
}
